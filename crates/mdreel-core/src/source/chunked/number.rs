//! Numbers as stored in a file, and their conversion.

use crate::frame::ColumnsMut;

/// Type of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
}

/// Format of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// Type of the number.
    pub kind: Kind,
    /// Whether the most significant byte comes first.
    pub is_big_endian: bool,
}

impl Number {
    /// Returns the number format with this NumPy name, such as `<f4`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (order, kind) = name.split_at_checked(1)?;
        let kind = match kind {
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            _ => return None,
        };
        match order {
            "<" => Some(Number { kind, is_big_endian: false }),
            ">" => Some(Number { kind, is_big_endian: true }),
            _ => None,
        }
    }

    /// Returns the number of bytes of a number.
    pub(crate) fn bytes(self) -> u64 {
        match self.kind {
            Kind::F32 | Kind::I32 => 4,
            Kind::F64 | Kind::I64 => 8,
        }
    }
}

/// Factors of a stored number. MDAnalysis rounds to single precision between the two multiplications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// Factor that is stored in the file.
    pub scale: f64,
    /// Whether numbers in single precision are also multiplied by the scale in double precision.
    pub in_double: bool,
    /// Factor from the unit of the file to that of mdreel.
    pub unit: f32,
}

impl Conversion {
    fn of_single(self, value: f32) -> f32 {
        let scaled = if self.in_double { (f64::from(value) * self.scale) as f32 } else { value * self.scale as f32 };
        scaled * self.unit
    }

    /// Converts a number in double precision.
    pub(crate) fn of_double(self, value: f64) -> f32 {
        (value * self.scale) as f32 * self.unit
    }
}

/// Rows of up to three numbers in bytes, and the columns to which they belong.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Bytes of the first selected row and all rows after it.
    pub bytes: &'a [u8],
    /// Indices of the selected rows, ascending. The bytes begin with the first of these rows.
    pub indices: &'a [u32],
    /// First column in the bytes.
    pub first_column: usize,
    /// Number of columns in the bytes.
    pub n_columns: usize,
    /// Number of values from one row to the next.
    pub stride: usize,
}

/// Copies rows to the numbers of the columns from `target` on.
pub(super) fn gather(
    number: Number,
    conversion: Conversion,
    rows: Rows<'_>,
    columns: &mut ColumnsMut<'_>,
    target: usize,
) {
    let is_big = number.is_big_endian;
    let turn4 = |word: [u8; 4]| if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) };
    let turn8 = |word: [u8; 8]| if is_big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) };
    // Most files have a scale of 1, so that only the factor of the unit remains. It is applied in single precision.
    let is_plain = conversion.scale == 1.0;
    match number.kind {
        Kind::F32 if is_plain && !is_big => {
            copy(rows, columns, target, |word| f32::from_le_bytes(word) * conversion.unit);
        }
        Kind::F32 if is_plain => copy(rows, columns, target, |word| f32::from_be_bytes(word) * conversion.unit),
        Kind::F32 => copy(rows, columns, target, |word| conversion.of_single(f32::from_bits(turn4(word)))),
        Kind::F64 => copy(rows, columns, target, |word| conversion.of_double(f64::from_bits(turn8(word)))),
        Kind::I32 => copy(rows, columns, target, |word| conversion.of_double(f64::from(turn4(word) as i32))),
        Kind::I64 => copy(rows, columns, target, |word| conversion.of_double(turn8(word) as i64 as f64)),
    }
}

fn copy<const N: usize>(rows: Rows<'_>, columns: &mut ColumnsMut<'_>, target: usize, value: impl Fn([u8; N]) -> f32) {
    let words = rows.bytes.as_chunks::<N>().0;
    let end = target + rows.indices.len();
    let Some(&first) = rows.indices.first() else { return };
    if rows.stride == 3 {
        let (x, y, z) = (&mut columns.x[target..end], &mut columns.y[target..end], &mut columns.z[target..end]);
        let triples = words.as_chunks::<3>().0;
        let is_run = rows.indices.last().is_some_and(|&last| (last - first) as usize + 1 == rows.indices.len());
        let out = x.iter_mut().zip(y).zip(z);
        let put = |((x, y), z): ((&mut f32, &mut f32), &mut f32), triple: &[[u8; N]; 3]| {
            (*x, *y, *z) = (value(triple[0]), value(triple[1]), value(triple[2]));
        };
        if is_run {
            out.zip(triples).for_each(|(out, triple)| put(out, triple));
        } else {
            out.zip(rows.indices).for_each(|(out, &row)| put(out, &triples[(row - first) as usize]));
        }
        return;
    }
    for k in 0..rows.n_columns {
        let column = match rows.first_column + k {
            0 => &mut *columns.x,
            1 => &mut *columns.y,
            _ => &mut *columns.z,
        };
        for (out, &row) in column[target..end].iter_mut().zip(rows.indices) {
            *out = value(words[(row - first) as usize * rows.stride + k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Conversion = Conversion { scale: 1.0, in_double: false, unit: 1.0 };

    fn gathered(name: &str, conversion: Conversion, bytes: &[u8], indices: &[u32]) -> [Vec<f32>; 3] {
        let mut columns = [const { Vec::new() }; 3];
        columns.iter_mut().for_each(|column| column.resize(indices.len(), 0.0));
        let [x, y, z] = &mut columns;
        let rows = Rows { bytes, indices, first_column: 0, n_columns: 3, stride: 3 };
        gather(Number::from_name(name).unwrap(), conversion, rows, &mut ColumnsMut { x, y, z }, 0);
        columns
    }

    #[test]
    fn numbers_of_every_type_are_understood() {
        let values = [1.0, -2.0, 3.0, 4.0, 5.0, -6.0, 7.0, 8.0, 9.0];
        let expected = [vec![1.0, 7.0], vec![-2.0, 8.0], vec![3.0, 9.0]];
        let bytes = |word: &dyn Fn(f64) -> Vec<u8>| values.iter().flat_map(|&value| word(value)).collect::<Vec<u8>>();
        for (name, bytes) in [
            ("<f4", bytes(&|value| (value as f32).to_le_bytes().to_vec())),
            (">f4", bytes(&|value| (value as f32).to_be_bytes().to_vec())),
            ("<f8", bytes(&|value| value.to_le_bytes().to_vec())),
            (">f8", bytes(&|value| value.to_be_bytes().to_vec())),
            ("<i4", bytes(&|value| (value as i32).to_le_bytes().to_vec())),
            (">i4", bytes(&|value| (value as i32).to_be_bytes().to_vec())),
            ("<i8", bytes(&|value| (value as i64).to_le_bytes().to_vec())),
            (">i8", bytes(&|value| (value as i64).to_be_bytes().to_vec())),
        ] {
            assert_eq!(gathered(name, PLAIN, &bytes, &[5, 7]), expected, "{name}");
        }
        assert_eq!(Number::from_name("<f2"), None);
        assert_eq!(Number::from_name("|S1"), None);
    }

    #[test]
    fn conversion_rounds_where_it_is_told_to() {
        let (value, scale, unit) = (1.234_567_9_f32, 20.455, 0.1_f32);
        let bytes = [value.to_le_bytes(); 3].concat();
        let single = Conversion { scale, in_double: false, unit };
        assert_eq!(gathered("<f4", single, &bytes, &[0])[0][0], value * scale as f32 * unit);
        let double = Conversion { scale, in_double: true, unit };
        assert_eq!(gathered("<f4", double, &bytes, &[0])[0][0], (f64::from(value) * scale) as f32 * unit);
    }
}
