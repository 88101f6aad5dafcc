//! Partial results and how they merge. Merging is associative and happens in block order, so that the bits of a
//! result do not depend on who computed what.

/// What a block of frames became.
pub trait Partial: Send {
    /// Number of frames in it.
    fn n_frames(&self) -> u64;

    /// Makes room for `n_frames` more frames, where the result grows with them.
    fn reserve(&mut self, _n_frames: u64) {}

    /// Adds the partial result of the frames that follow.
    fn merge(&mut self, next: Self);

    /// Adds `first` to every frame number: for blocks that did not know how many frames come before them.
    fn renumber(&mut self, first: u64);
}

/// A value for each frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Frame numbers.
    pub frames: Vec<u64>,
    /// Times in ps.
    pub times: Vec<f64>,
    /// The values.
    pub values: Vec<f64>,
}

impl Series {
    /// Adds the value of one frame.
    pub fn push(&mut self, frame: u64, time: f64, value: f64) {
        self.frames.push(frame);
        self.times.push(time);
        self.values.push(value);
    }
}

impl Partial for Series {
    fn n_frames(&self) -> u64 {
        self.frames.len() as u64
    }

    fn reserve(&mut self, n_frames: u64) {
        self.frames.reserve(n_frames as usize);
        self.times.reserve(n_frames as usize);
        self.values.reserve(n_frames as usize);
    }

    fn merge(&mut self, next: Self) {
        self.frames.extend(next.frames);
        self.times.extend(next.times);
        self.values.extend(next.values);
    }

    fn renumber(&mut self, first: u64) {
        self.frames.iter_mut().for_each(|frame| *frame += first);
    }
}
