//! The natural order of names, in which `frame-9` comes before `frame-10`.

use std::cmp::Ordering;

/// Compares names. Sequences of digits compare as numbers, and everything else byte by byte.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, others) = (digits(&mut left), digits(&mut right));
            number.len().cmp(&others.len()).then_with(|| number.cmp(others))
        } else {
            let order = first.cmp(second);
            (left, right) = (&left[1..], &right[1..]);
            order
        };
        if order.is_ne() {
            return order;
        }
    }
    // The shorter name comes first. Names that differ only in leading zeros are not equal.
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// Removes the digits from the front of a text, and returns them without leading zeros.
fn digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(n_digits);
    *text = rest;
    let n_zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    &digits[n_zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let ordered =
            ["a", "a.1", "a1", "a02", "a2", "a9.pdb", "a10.pdb", "a10b2", "a10b10", "b1", "b99999999999999999999999"];
        for (i, one) in ordered.iter().enumerate() {
            for (j, other) in ordered.iter().enumerate() {
                assert_eq!(compare(one.as_bytes(), other.as_bytes()), i.cmp(&j), "{one} {other}");
            }
        }
    }
}
