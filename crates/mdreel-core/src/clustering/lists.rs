//! Lists of neighbours, stored as long as they fit in the allowed memory.

/// The number of neighbours of each frame, and the neighbours themselves if there are not too many.
pub(super) struct Neighbours {
    pub counts: Vec<u32>,
    pub lists: Option<Lists>,
}

/// The neighbours of each frame. Each neighbour takes 4 bytes, so each pair takes 8 bytes.
pub(super) struct Lists {
    /// Earlier neighbours of each frame.
    earlier: Vec<Box<[u32]>>,
    /// Later neighbours of all frames, one frame after another.
    later: Vec<u32>,
    /// The start of each frame's later neighbours, followed by the end of all.
    starts: Vec<usize>,
}

/// A collector of neighbours, frame by frame.
pub(super) struct Collector {
    n_frames: usize,
    counts: Vec<u32>,
    n_pairs: usize,
    most_pairs: usize,
    earlier: Option<Vec<Box<[u32]>>>,
}

impl Collector {
    /// Creates a collector for `n_frames` frames that stores the lists of up to `most_pairs` pairs.
    pub(super) fn new(n_frames: usize, most_pairs: usize) -> Self {
        let earlier = Some(Vec::with_capacity(n_frames));
        Collector { n_frames, counts: vec![0; n_frames], n_pairs: 0, most_pairs, earlier }
    }

    /// Adds the earlier neighbours of the next frame, in ascending order.
    pub(super) fn add(&mut self, frame: u32, neighbours: Vec<u32>) {
        self.counts[frame as usize] += neighbours.len() as u32;
        neighbours.iter().for_each(|other| self.counts[*other as usize] += 1);
        self.n_pairs += neighbours.len();
        if self.n_pairs > self.most_pairs {
            self.earlier = None;
        }
        if let Some(earlier) = &mut self.earlier {
            earlier.push(neighbours.into_boxed_slice());
        }
    }

    /// Returns the neighbours of all frames.
    pub(super) fn finish(self) -> Neighbours {
        let lists = self.earlier.map(|earlier| {
            let mut starts = vec![0; self.n_frames + 1];
            for ((frame, count), earlier) in self.counts.iter().enumerate().zip(&earlier) {
                starts[frame + 1] = starts[frame] + (*count as usize - earlier.len());
            }
            let (mut later, mut ends) = (vec![0; self.n_pairs], starts.clone());
            for (frame, neighbours) in (0..).zip(&earlier) {
                for other in neighbours {
                    let end = &mut ends[*other as usize];
                    later[*end] = frame;
                    *end += 1;
                }
            }
            Lists { earlier, later, starts }
        });
        Neighbours { counts: self.counts, lists }
    }
}

impl Lists {
    /// Returns the neighbours of a frame in ascending order.
    pub(super) fn of(&self, frame: u32) -> impl Iterator<Item = u32> {
        let place = frame as usize;
        let later = &self.later[self.starts[place]..self.starts[place + 1]];
        self.earlier[place].iter().chain(later).copied()
    }
}
