//! Programs that the kernel runs at each system call (seccomp(2)), and how one is assembled.

use super::sys::Instruction;

/// The architecture whose calls are known here, as seccomp(2) names it; `None` if none are.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const ARCHITECTURE: Option<u32> = None;

/// The first number of x32 calls; no other call has such a number.
pub(super) const X32: u32 = 0x4000_0000;

// Operations of classic BPF (linux/bpf_common.h), and answers of a filter (seccomp(2)).
pub(super) const LOAD: u16 = 0x20;
pub(super) const IS: u16 = 0x15;
pub(super) const IS_LEAST: u16 = 0x35;
pub(super) const HAS: u16 = 0x45;
pub(super) const RETURN: u16 = 0x06;
pub(super) const TRAP: u32 = 0x7fc0_0000;
pub(super) const ALLOW: u32 = 0x7fff_0000;
/// Answers a call with an error; its number is added.
pub(super) const REFUSE: u32 = 0x0005_0000;

/// Offsets in the input of a filter (`struct seccomp_data`).
const NUMBER: u32 = 0;
const OF_ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Makes an instruction. `skip`: the instructions to skip if a comparison is true, and if it is
/// false.
pub(super) fn instruction(code: u16, operand: u32, skip: [u8; 2]) -> Instruction {
    Instruction {
        code,
        skip,
        operand,
    }
}

/// Makes the last instruction of a filter, or of a part of it.
pub(super) fn answer(what: u32) -> Instruction {
    instruction(RETURN, what, [0, 0])
}

/// Offset of an argument's low 32 bits; the high bits follow.
pub(super) fn argument(index: usize) -> u32 {
    ARGUMENTS + 8 * u32::try_from(index).unwrap_or(0)
}

/// Returns the beginning of a filter. It answers calls of other architectures, and leaves the
/// number of any other call to the following instructions.
pub(super) fn of_kind(architecture: u32, other: u32) -> Vec<Instruction> {
    let mut filter = vec![
        instruction(LOAD, OF_ARCHITECTURE, [0, 0]),
        instruction(IS, architecture, [1, 0]),
        answer(other),
        instruction(LOAD, NUMBER, [0, 0]),
    ];
    if cfg!(target_arch = "x86_64") {
        filter.extend([instruction(IS_LEAST, X32, [0, 1]), answer(other)]);
    }
    filter
}

/// Runs a filter as the kernel does, for tests.
#[cfg(test)]
pub(super) fn run(
    filter: &[Instruction],
    architecture: u32,
    number: u32,
    arguments: [u64; 6],
) -> u32 {
    let mut data = Vec::new();
    data.extend(number.to_le_bytes());
    data.extend(architecture.to_le_bytes());
    data.extend([0; 8]);
    data.extend(arguments.iter().flat_map(|a| a.to_le_bytes()));
    let (mut at, mut loaded) = (0, 0);
    loop {
        let Instruction {
            code,
            skip,
            operand,
        } = filter[at];
        at += 1;
        let holds = match code {
            LOAD => {
                let place = operand as usize;
                loaded = u32::from_le_bytes(data[place..place + 4].try_into().unwrap());
                continue;
            }
            RETURN => return operand,
            IS => loaded == operand,
            IS_LEAST => loaded >= operand,
            HAS => loaded & operand != 0,
            _ => panic!("no operation"),
        };
        at += usize::from(skip[usize::from(!holds)]);
    }
}
