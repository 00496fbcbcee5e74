//! `Router`: how a token's logits become its experts and their weights, as a constant of the model.

/// What the logits of a router become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterScores {
    /// Softmax over all experts.
    Softmax,
    /// The sigmoid of each.
    Sigmoid,
}

/// What a group of experts counts for where groups are chosen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScore {
    /// The sum of its two best experts.
    Top2,
    /// Its best expert.
    Max,
}

/// How `K` of `E` experts are chosen, and what they weigh.
///
/// Experts are chosen by their scores, plus a bias where the model has one; with groups, among the experts of the best groups.
/// Equal scores go to the lower index, of experts and of groups. A route weighs the score of its expert without the bias,
/// divided by the sum over the token's routes (plus 1e-20) where the model normalises, times `scaling`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Router<const E: usize, const K: usize> {
    pub(crate) scores: RouterScores,
    pub(crate) groups: usize,
    pub(crate) top_groups: usize,
    pub(crate) group_score: GroupScore,
    pub(crate) normalise: bool,
    pub(crate) scaling: f32,
}

impl<const E: usize, const K: usize> Router<E, K> {
    /// A router that chooses among all experts.
    ///
    /// # Panics
    /// At compile time, when `K` is not 1 to `E`, or `scaling` is no number.
    pub const fn new(scores: RouterScores, normalise: bool, scaling: f32) -> Self {
        const { assert!(0 < K && K <= E, "a token goes to 1 to all experts") };
        assert!(scaling.is_finite(), "the scaling is a number");
        Self { scores, groups: 1, top_groups: 1, group_score: GroupScore::Max, normalise, scaling }
    }

    /// What the logits become, as a kernel reads it: 0 for a softmax, 1 for sigmoids.
    pub const fn scores_code(self) -> usize {
        match self.scores {
            RouterScores::Softmax => 0,
            RouterScores::Sigmoid => 1,
        }
    }

    /// Groups of experts; 1 where all are one.
    pub const fn group_count(self) -> usize {
        self.groups
    }

    /// Groups that are chosen first.
    pub const fn chosen_groups(self) -> usize {
        self.top_groups
    }

    /// How a group is scored, as a kernel reads it: 0 by its best expert, 1 by the sum of its two best.
    pub const fn group_score_code(self) -> usize {
        match self.group_score {
            GroupScore::Max => 0,
            GroupScore::Top2 => 1,
        }
    }

    /// Whether weights are divided by their sum, as a kernel reads it: 0 or 1.
    pub const fn normalise_code(self) -> usize {
        self.normalise as usize
    }

    /// What weights are multiplied by at the end.
    pub const fn scaling(self) -> f32 {
        self.scaling
    }

    /// The same where experts come from the best `top_groups` of `groups` groups of neighbours.
    ///
    /// # Panics
    /// At compile time, when the groups are not equal, too small for the score, or cannot hold `K` experts.
    pub const fn groups(self, groups: usize, top_groups: usize, score: GroupScore) -> Self {
        assert!(groups > 0 && E.is_multiple_of(groups), "groups have the same number of experts");
        assert!(0 < top_groups && top_groups <= groups, "1 to all groups are chosen");
        assert!(K <= top_groups * (E / groups), "the chosen groups have enough experts");
        assert!(E / groups >= 2 || matches!(score, GroupScore::Max), "a sum of two needs two experts in a group");
        Self { groups, top_groups, group_score: score, ..self }
    }
}
