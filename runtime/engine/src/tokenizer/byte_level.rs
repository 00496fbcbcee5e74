//! GPT-2's alphabet: a printable character for every byte.

/// The character that stands for each byte: printable Latin-1 for itself, the other 68 bytes from U+0100 on, in order.
pub(crate) const ALPHABET: [char; 256] = {
    let mut alphabet = ['\0'; 256];
    let (mut byte, mut next) = (0, 256);
    while byte < 256 {
        let visible = matches!(byte as u8, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let code = if visible { byte as u32 } else { next };
        next += !visible as u32;
        alphabet[byte] = char::from_u32(code).expect("below the surrogates");
        byte += 1;
    }
    alphabet
};

const BYTES: [Option<u8>; 324] = {
    let mut bytes = [None; 324];
    let mut byte = 0;
    while byte < 256 {
        bytes[ALPHABET[byte] as usize] = Some(byte as u8);
        byte += 1;
    }
    bytes
};

/// The byte that a character stands for.
pub(super) fn byte_of(c: char) -> Option<u8> {
    BYTES.get(c as usize).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_a_bijection_on_bytes() {
        let mut bytes: Vec<u8> = (0..=0x17F).filter_map(char::from_u32).filter_map(byte_of).collect();
        assert_eq!(bytes.len(), 256);
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(bytes.len(), 256);
        assert_eq!((byte_of('Ġ'), byte_of('Ċ'), byte_of('A'), byte_of('é')), (Some(b' '), Some(b'\n'), Some(b'A'), Some(0xE9)));
        assert_eq!(byte_of(' '), None);
    }
}
