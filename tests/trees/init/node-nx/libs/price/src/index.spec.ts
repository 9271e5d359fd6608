import { total } from './index';

describe('total', () => {
  it('adds', () => expect(total([1, 2])).toBe(3));
});
