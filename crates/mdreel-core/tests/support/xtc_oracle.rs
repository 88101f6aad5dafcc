//! The XTC oracle: it decodes bit by bit and atom by atom, and follows only the description of the format.

/// The content of a frame. The floats of its header are in the units of the file (nm, ps).
#[derive(Debug, Clone)]
pub(crate) struct OracleFrame {
    pub start: usize,
    pub end: usize,
    pub step: i32,
    pub time: f32,
    pub box_vectors: [f32; 9],
    /// Coordinates in Å.
    pub coordinates: Vec<[f32; 3]>,
    /// For each atom, the number of bytes of the frame that are necessary to decode it.
    pub needed: Vec<usize>,
    /// Whether some atom has each of the smallest and largest integers in the header.
    pub reaches_its_extremes: bool,
}

/// Returns the radix of a small index. It is the largest number whose cube does not exceed `2^index`, except for three
/// mistakes that became part of the format.
pub(crate) fn small_radix(index: u32) -> u32 {
    match index {
        37 => 5060,
        57 => 524_287,
        69 => 8_388_607,
        _ => (0..=24).rev().map(|k| 1u32 << k).fold(0, |root, bit| {
            let next = root + bit;
            if u128::from(next).pow(3) <= 1 << index { next } else { root }
        }),
    }
}

/// Returns the radices of all small indices.
pub(crate) fn small_radices() -> &'static [u32; 73] {
    static RADICES: std::sync::OnceLock<[u32; 73]> = std::sync::OnceLock::new();
    RADICES.get_or_init(|| std::array::from_fn(|index| if index < 9 { 0 } else { small_radix(index as u32) }))
}

/// Decodes all frames of a file. If anything is invalid, it returns `Err` with the complete frames before it.
pub(crate) fn decode_file(bytes: &[u8]) -> Result<Vec<OracleFrame>, Vec<OracleFrame>> {
    let mut frames: Vec<OracleFrame> = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        match decode_frame(bytes, start) {
            Some(frame) if frames.first().is_none_or(|first| first.coordinates.len() == frame.coordinates.len()) => {
                start = frame.end;
                frames.push(frame);
            }
            _ => return Err(frames),
        }
    }
    if frames.is_empty() { Err(frames) } else { Ok(frames) }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn decode_frame(bytes: &[u8], start: usize) -> Option<OracleFrame> {
    let mut at = start;
    let mut next = || {
        at += 4;
        word(bytes, at - 4)
    };
    let magic = next()?;
    if magic != 1995 && magic != 2023 {
        return None;
    }
    let n_atoms = next()?;
    let step = next()? as i32;
    let time = f32::from_bits(next()?);
    let mut box_vectors = [0.0; 9];
    for value in &mut box_vectors {
        *value = f32::from_bits(next()?);
    }
    if next()? != n_atoms || n_atoms == 0 || n_atoms > i32::MAX as u32 {
        return None;
    }
    let mut frame = OracleFrame {
        start,
        end: 0,
        step,
        time,
        box_vectors,
        coordinates: Vec::new(),
        needed: Vec::new(),
        reaches_its_extremes: true,
    };
    if n_atoms <= 9 {
        for _ in 0..n_atoms {
            let mut coordinate = [0.0; 3];
            for value in &mut coordinate {
                *value = f32::from_bits(next()?) * 10.0;
            }
            frame.coordinates.push(coordinate);
        }
        frame.needed = vec![at - start; n_atoms as usize];
        frame.end = at;
        return Some(frame);
    }
    let precision = f32::from_bits(next()?);
    let min = [next()? as i32, next()? as i32, next()? as i32];
    let max = [next()? as i32, next()? as i32, next()? as i32];
    let small_index = next()?;
    let n_bytes = if magic == 2023 { u64::from(next()?) << 32 | u64::from(next()?) } else { u64::from(next()?) };
    let mut sizes = [0; 3];
    for axis in 0..3 {
        sizes[axis] = u32::try_from(i64::from(max[axis]) - i64::from(min[axis]) + 1).ok()?;
    }
    if !precision.is_finite() || precision <= 0.0 || sizes.contains(&0) || !(9..=72).contains(&small_index) {
        return None;
    }
    // An atom takes at most three fields of 32 bits and six control bits. The oracle refuses more bytes.
    let n_bytes = usize::try_from(n_bytes).ok().filter(|&n| n <= (102 * n_atoms as usize + 64).div_ceil(8))?;
    let data = bytes.get(at..at.checked_add(n_bytes)?)?;
    frame.end = at + n_bytes.checked_next_multiple_of(4)?;
    if frame.end > bytes.len() {
        return None;
    }
    decode_groups(&mut frame, data, at - start, n_atoms as usize, precision, min, sizes, small_index)?;
    Some(frame)
}

struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> Option<u32> {
        let byte = *self.data.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(u32::from(bit))
    }

    /// Reads a number whose first bit is its highest.
    fn field(&mut self, n_bits: usize) -> Option<u32> {
        let mut value = 0;
        for _ in 0..n_bits {
            value = value << 1 | self.bit()?;
        }
        Some(value)
    }

    /// Reads three components packed in one number. The number is stored byte by byte, with its lowest byte first and
    /// the bits of an incomplete byte last. The function uses schoolbook division of a number with base-256 digits.
    fn packed(&mut self, n_bits: usize, sizes: [u32; 3]) -> Option<[u32; 3]> {
        let mut digits = Vec::new();
        let mut left = n_bits;
        while left > 0 {
            let width = left.min(8);
            digits.push(self.field(width)?);
            left -= width;
        }
        let mut divide = |divisor: u32| {
            let mut remainder = 0u64;
            for digit in digits.iter_mut().rev() {
                let dividend = remainder << 8 | u64::from(*digit);
                *digit = (dividend / u64::from(divisor)) as u32;
                remainder = dividend % u64::from(divisor);
            }
            remainder as u32
        };
        let z = divide(sizes[2]);
        let y = divide(sizes[1]);
        let x = digits.iter().take(4).enumerate().map(|(k, &digit)| digit << (8 * k)).sum();
        Some([x, y, z])
    }
}

/// Returns the number of bits of the product of `sizes`, found by doubling.
pub(crate) fn product_bits(sizes: [u32; 3]) -> usize {
    let product: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    (0..).find(|&bits| 1u128 << bits > product).unwrap_or(0)
}

#[expect(clippy::too_many_arguments, reason = "what a header says, used once")]
fn decode_groups(
    frame: &mut OracleFrame,
    data: &[u8],
    header_len: usize,
    n_atoms: usize,
    precision: f32,
    min: [i32; 3],
    sizes: [u32; 3],
    mut small_index: u32,
) -> Option<()> {
    let inverse_precision = (1.0 / f64::from(precision)) as f32;
    let mut bits = Bits { data, at: 0 };
    let (mut least, mut largest) = ([i32::MAX; 3], [i32::MIN; 3]);
    let mut run = 0;
    while frame.coordinates.len() < n_atoms {
        let mut big = if sizes.iter().any(|&size| size >= 1 << 24) {
            let mut fields = [0; 3];
            for axis in 0..3 {
                fields[axis] = bits.field(product_bits([sizes[axis], 1, 1]))?;
            }
            fields
        } else {
            bits.packed(product_bits(sizes), sizes)?
        };
        for axis in 0..3 {
            big[axis] = big[axis].wrapping_add(min[axis] as u32);
        }
        let mut change = 0;
        if bits.bit()? == 1 {
            let code = bits.field(5)?;
            run = code / 3;
            change = code as i32 % 3 - 1;
        }
        let mut atoms = vec![big];
        let mut before = big;
        for k in 0..run {
            let radix = small_radices()[small_index as usize];
            let mut atom = bits.packed(small_index as usize, [radix; 3])?;
            for axis in 0..3 {
                atom[axis] = atom[axis].wrapping_sub(radix / 2).wrapping_add(before[axis]);
            }
            before = atom;
            // The first small atom comes before the big one (in water, the oxygen comes between its hydrogens).
            if k == 0 { atoms.insert(0, atom) } else { atoms.push(atom) }
        }
        small_index = small_index.wrapping_add_signed(change);
        if !(9..=72).contains(&small_index) || frame.coordinates.len() + atoms.len() > n_atoms {
            return None;
        }
        for atom in atoms {
            for axis in 0..3 {
                least[axis] = least[axis].min(atom[axis] as i32);
                largest[axis] = largest[axis].max(atom[axis] as i32);
            }
            frame.coordinates.push(atom.map(|v| v as i32 as f32 * inverse_precision * 10.0));
            frame.needed.push(header_len + bits.at.div_ceil(8));
        }
    }
    let max = [0, 1, 2].map(|axis| min[axis].wrapping_add_unsigned(sizes[axis] - 1));
    frame.reaches_its_extremes = (least, largest) == (min, max);
    // Only the bits that pad the last byte may remain.
    let n_left = 8 * data.len() - bits.at;
    (n_left < 8 && bits.field(n_left)? == 0).then_some(())
}
