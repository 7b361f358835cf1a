//! Numbers that look random and are not: the same seed gives the same story on every machine.
//!
//! Before: a seed. After: `event.rs` draws its events from here.

/// A generator of the splitmix64 kind: small, and good enough to choose events.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not begin alike.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit.max(1)
    }
}

/// What an event says about one request: how long it takes, and whether it goes wrong. Luck 0 is the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Luck(pub u64);

impl Luck {
    /// A number below `limit` for one of the independent `questions` that one request may ask.
    pub fn below(self, question: u64, limit: u64) -> u64 {
        match self.0 {
            0 => 0,
            luck => Random::new(luck ^ question).below(limit),
        }
    }

    /// Whether something happens that happens once in `times`.
    pub fn strikes(self, question: u64, times: u64) -> bool {
        self.0 != 0 && self.below(question, times) == 1
    }
}
