import { total } from '@lantern/price';

document.title = `Shop (${total([1, 2])})`;
