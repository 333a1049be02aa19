//! Bytes as text, in the alphabet of RFC 4648 with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text: four letters for every three.
pub(super) fn encode(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut text = String::new();
    let mut bytes = bytes.into_iter().peekable();
    while bytes.peek().is_some() {
        let (mut group, mut count) = (0u32, 0);
        for _ in 0..3 {
            let byte = bytes.next();
            count += usize::from(byte.is_some());
            group = group << 8 | u32::from(byte.unwrap_or(0));
        }
        for letter in 0..4 {
            let digit = group >> (18 - 6 * letter) & 63;
            text.push(if letter <= count { ALPHABET[digit as usize] as char } else { '=' });
        }
    }
    text
}

/// The bytes of a text, if [`encode`] gives this text for them.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let letters = text.as_bytes();
    if !letters.len().is_multiple_of(4) {
        return None;
    }
    let padding = letters.iter().rev().take_while(|&&letter| letter == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    for (at, group) in letters.chunks(4).enumerate() {
        let kept = if (at + 1) * 4 == letters.len() { 4 - padding } else { 4 };
        let mut bits = 0u32;
        for &letter in &group[..kept] {
            bits = bits << 6 | digit(letter)?;
        }
        bits <<= 6 * (4 - kept);
        let count = kept * 3 / 4;
        // Bits that no byte has are zeros: every sequence of bytes has one text.
        if bits & ((1 << (24 - 8 * count)) - 1) != 0 {
            return None;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=count]);
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_standard() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in examples {
            assert_eq!(encode(bytes.bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
    }

    #[test]
    fn every_byte_comes_back_and_nothing_else_is_read() {
        let bytes: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for end in [512, 511, 510, 1] {
            assert_eq!(decode(&encode(bytes[..end].iter().copied())).as_deref(), Some(&bytes[..end]));
        }
        for text in ["Zg=", "Zg", "=", "====", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Z g=", "Zm9v\n", "Zm-_", "é="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
