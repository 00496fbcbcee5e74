//! Frequencies, the edges of every parameter, and what is asked of seeds.

use super::*;

fn counts(params: SamplingParams, logits: &[f32], draws: usize) -> Vec<usize> {
    let mut sampler = Sampler::new(params, &[]).unwrap();
    let mut counts = vec![0; logits.len()];
    for _ in 0..draws {
        counts[sampler.sample(logits, None).unwrap() as usize] += 1;
    }
    counts
}

const PARAMS: SamplingParams = SamplingParams { temperature: 1.0, seed: 1, ..SamplingParams::GREEDY };

#[test]
fn greedy_takes_the_lowest_id_of_a_tie() {
    let mut sampler = Sampler::new(SamplingParams::GREEDY, &[]).unwrap();
    assert_eq!(sampler.sample(&[0.0, 2.0, 2.0, -1.0], None), Ok(1));
    assert_eq!(sampler.sample(&[-0.0, 0.0], None), Ok(0));
    assert_eq!(sampler.sample(&[f32::NEG_INFINITY, -3e38], None), Ok(1));
}

#[test]
fn broken_logits_are_an_error_and_not_a_token() {
    let mut sampler = Sampler::new(PARAMS, &[]).unwrap();
    let nan = sampler.sample(&[0.0, f32::NAN], None).unwrap_err();
    assert_eq!(nan.to_string(), "the logit of token 1 is NaN: the model or its weights are broken");
    assert!(matches!(sampler.sample(&[f32::INFINITY], None), Err(LogitsError::NotANumber { token: 0, .. })));
    assert_eq!(sampler.sample(&[f32::NEG_INFINITY; 2], None), Err(LogitsError::Nothing));
}

#[test]
fn frequencies_follow_the_distribution() {
    let logits = [3f32, 2.0, 1.0, 0.0].map(f32::ln);
    let counts = counts(PARAMS, &logits, 60_000);
    assert_eq!(counts[3], 0, "a logit of -inf has no mass");
    for (count, expected) in counts.iter().zip([30_000.0, 20_000.0, 10_000.0]) {
        // Five standard deviations of a binomial.
        assert!((*count as f64 - expected).abs() < 5.0 * 122.5, "{counts:?}");
    }
}

#[test]
fn top_k_and_top_p_cut_the_tail() {
    let logits = [0.0f32, 3.0, 2.0, 3.0, 1.0];
    let kept = |params| counts(params, &logits, 4_000).iter().map(|&c| c > 0).collect::<Vec<_>>();
    assert_eq!(kept(SamplingParams { top_k: 3, ..PARAMS }), [false, true, true, true, false]);
    // The two largest have 0.783 of the mass, each 0.391.
    assert_eq!(kept(SamplingParams { top_p: 0.38, ..PARAMS }), [false, true, false, false, false]);
    assert_eq!(kept(SamplingParams { top_p: 0.70, ..PARAMS }), [false, true, false, true, false]);
    assert_eq!(kept(SamplingParams { top_p: 0.79, ..PARAMS }), [false, true, true, true, false]);
    assert_eq!(kept(SamplingParams { top_k: 1, ..PARAMS }), [false, true, false, false, false]);
    assert_eq!(kept(SamplingParams { top_p: 0.999_999, ..PARAMS }), [true; 5]);
}

#[test]
fn top_p_over_a_flat_vocabulary_keeps_the_lowest_ids() {
    // Wider than the first heads that are sorted, so the loop must grow them.
    let params = SamplingParams { top_p: 0.5, ..PARAMS };
    let counts = counts(params, &[0.0; 1_000], 4_000);
    assert!(counts[..500].iter().filter(|&&c| c > 0).count() > 490);
    assert_eq!(counts[500..].iter().sum::<usize>(), 0);
}

#[test]
fn a_seed_fixes_the_sequence() {
    let logits: Vec<f32> = (0..50).map(|i| ((i * 37) % 11) as f32 * 0.3).collect();
    let draw = |seed| {
        let mut sampler = Sampler::new(SamplingParams { top_p: 0.9, temperature: 0.8, seed, ..PARAMS }, &[]).unwrap();
        (0..8).map(|_| sampler.sample(&logits, None).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(draw(42), draw(42));
    assert_ne!(draw(42), draw(43));
}

#[test]
fn a_row_draws_what_a_sample_would_draw() {
    let (mut row, mut sample) = (Sampler::new(PARAMS, &[]).unwrap(), Sampler::new(PARAMS, &[]).unwrap());
    // Of 1,000 equal tokens the random number names one.
    for _ in 0..50 {
        let RowSampling { temperature, random, .. } = row.row();
        assert_eq!((temperature, sample.sample(&[0.0; 1000], None)), (1.0, Ok((f64::from(random) * 1000.0) as u32)));
    }
    let mut greedy = Sampler::new(SamplingParams { top_k: 1, ..PARAMS }, &[]).unwrap();
    assert_eq!(greedy.row(), RowSampling::GREEDY);
}

#[test]
fn parameters_out_of_range_are_refused() {
    for (params, text) in [
        (SamplingParams { temperature: -0.5, ..PARAMS }, "temperature is -0.5, and must be 0 or more"),
        (SamplingParams { temperature: f32::NAN, ..PARAMS }, "temperature is NaN, and must be 0 or more"),
        (SamplingParams { top_p: 0.0, ..PARAMS }, "top_p is 0, and must be over 0 and at most 1"),
        (SamplingParams { top_p: 1.5, ..PARAMS }, "top_p is 1.5, and must be over 0 and at most 1"),
    ] {
        assert_eq!(Sampler::new(params, &[]).unwrap_err().to_string(), text);
    }
}

#[test]
fn exp_agrees_with_libm() {
    for i in 0..=70_800 {
        let x = -f64::from(i) / 100.0;
        assert!((exp(x) / x.exp() - 1.0).abs() < 2e-15, "exp({x})");
    }
    assert_eq!((exp(0.0), exp(-709.0), exp(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
}

/// The only token that greedy choice can name after what the parameters change.
fn greedy(params: SamplingParams, prompt: &[u32], answer: &[u32], logits: &[f32]) -> u32 {
    let mut sampler = Sampler::new(SamplingParams { temperature: 0.0, ..params }, prompt).unwrap();
    answer.iter().for_each(|&token| sampler.observe(token));
    sampler.sample(logits, None).unwrap()
}

fn bias(bias: &[(u32, f32)]) -> SamplingParams {
    SamplingParams { logit_bias: Some(bias.into()), ..PARAMS }
}

fn allow(tokens: &[u32], size: usize) -> TokenSet {
    let mut set = TokenSet::alloc(size);
    tokens.iter().for_each(|&token| set.allow_token(token));
    set
}

/// eng-batch-04
#[test]
fn temperature_0_is_the_argmax_whatever_else_is_asked() {
    let logits: Vec<f32> = (0..300u32).map(|i| ((i * 7919) % 97) as f32 * 0.1).collect();
    let best = logits.iter().copied().fold(f32::MIN, f32::max);
    let first = logits.iter().position(|&l| l == best).unwrap() as u32;
    assert!(logits.iter().filter(|&&l| l == best).count() > 1, "the test wants a tie");
    let zero = SamplingParams { temperature: 0.0, ..PARAMS };
    for params in [
        SamplingParams { top_p: 0.1, ..zero.clone() },
        SamplingParams { top_k: 50, ..zero.clone() },
        SamplingParams { min_p: 1.0, ..zero.clone() },
        SamplingParams { seed: 2, top_k: 50, top_p: 0.1, ..zero },
    ] {
        let mut sampler = Sampler::new(params, &[]).unwrap();
        assert!((0..20).all(|_| sampler.sample(&logits, None) == Ok(first)));
    }
}

/// eng-batch-04
#[test]
fn tiny_temperatures_are_no_division_by_zero() {
    let logits = [1.0, 3.0, 2.999, f32::NEG_INFINITY];
    for temperature in [1e-4, 1e-10, f32::MIN_POSITIVE, f32::from_bits(1)] {
        let mut sampler = Sampler::new(SamplingParams { temperature, ..PARAMS }, &[]).unwrap();
        assert!((0..50).all(|_| sampler.sample(&logits, None) == Ok(1)), "{temperature:e}");
    }
    // Two that are equally likely stay so.
    let tied = counts(SamplingParams { temperature: 1e-4, ..PARAMS }, &[2.0, 2.0, 1.0], 400);
    assert!(tied[0] > 100 && tied[1] > 100 && tied[2] == 0, "{tied:?}");
}

/// eng-seed-03
#[test]
fn choices_of_one_seed_differ_and_repeat() {
    let logits: Vec<f32> = (0..50).map(|i| ((i * 37) % 11) as f32 * 0.1).collect();
    let draw = |choice| {
        let params = SamplingParams { temperature: 1.5, seed: choice_seed(7, choice), ..PARAMS };
        let mut sampler = Sampler::new(params, &[]).unwrap();
        (0..16).map(|_| sampler.sample(&logits, None).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(choice_seed(7, 0), 7, "the first of three is the only one of one");
    let choices: Vec<_> = (0..3).map(draw).collect();
    assert_eq!(choices, (0..3).map(draw).collect::<Vec<_>>());
    assert!(choices[0] != choices[1] && choices[0] != choices[2] && choices[1] != choices[2], "{choices:?}");
    // Neither do the choices of neighbouring seeds meet.
    let seeds: std::collections::BTreeSet<u64> = (0..64).flat_map(|s| (0..64).map(move |c| choice_seed(s, c))).collect();
    assert_eq!(seeds.len(), 64 * 64);
}

#[test]
fn min_p_keeps_what_is_near_the_most_likely() {
    let logits = [8f32, 4.0, 2.0, 1.0].map(f32::ln);
    let kept = |params| counts(params, &logits, 4_000).iter().map(|&c| c > 0).collect::<Vec<_>>();
    assert_eq!(kept(SamplingParams { min_p: 0.49, ..PARAMS }), [true, true, false, false]);
    assert_eq!(kept(SamplingParams { min_p: 0.2, ..PARAMS }), [true, true, true, false]);
    assert_eq!(kept(SamplingParams { min_p: 1.0, ..PARAMS }), [true, false, false, false]);
    // Of what the temperature has made of the probabilities: at 2 they are their square roots.
    assert_eq!(kept(SamplingParams { min_p: 0.4, temperature: 2.0, ..PARAMS }), [true, true, true, false]);
    let counts = counts(SamplingParams { min_p: 0.49, ..PARAMS }, &logits, 30_000);
    assert!((counts[0] as f64 - 20_000.0).abs() < 5.0 * 82.0, "what is kept keeps its proportions: {counts:?}");
}

#[test]
fn frequency_and_presence_count_the_answer_alone() {
    let logits = [2.0, 1.3, 0.0];
    let frequency = SamplingParams { frequency_penalty: 0.5, ..PARAMS };
    assert_eq!(greedy(frequency.clone(), &[0, 0, 0, 0], &[], &logits), 0, "the prompt does not count");
    assert_eq!(greedy(frequency.clone(), &[], &[0], &logits), 0, "2 - 0.5 is over 1.3");
    assert_eq!(greedy(frequency, &[], &[0, 0], &logits), 1, "2 - 2 * 0.5 is not");
    let presence = SamplingParams { presence_penalty: 0.5, ..PARAMS };
    assert_eq!(greedy(presence.clone(), &[], &[0, 0, 0], &logits), 0, "once, however often it came");
    assert_eq!(greedy(SamplingParams { presence_penalty: 0.8, ..PARAMS }, &[], &[0], &logits), 1);
    assert_eq!(greedy(SamplingParams { presence_penalty: -2.0, ..PARAMS }, &[], &[2], &logits), 0, "2 is not under 0 + 2");
    assert_eq!(greedy(SamplingParams { frequency_penalty: -2.0, ..PARAMS }, &[], &[2, 2], &logits), 2);
}

#[test]
fn repetition_divides_what_is_positive_and_multiplies_what_is_not() {
    let params = SamplingParams { repetition_penalty: 2.0, ..PARAMS };
    assert_eq!(greedy(params.clone(), &[0], &[], &[3.0, 2.0]), 1, "3 / 2, and the prompt counts");
    assert_eq!(greedy(params.clone(), &[], &[0, 0], &[3.0, 1.4]), 0, "once, however often it came");
    assert_eq!(greedy(params.clone(), &[0], &[], &[-1.0, -1.5]), 1, "-1 * 2");
    assert_eq!(greedy(SamplingParams { repetition_penalty: 0.5, ..PARAMS }, &[1], &[], &[-1.0, -1.5]), 1, "-1.5 / 2");
    assert_eq!(greedy(params, &[7_000_000], &[], &[3.0, 2.0]), 0, "a token beyond the row changes nothing");
}

#[test]
fn penalties_come_before_the_bias_and_the_mask_after_it() {
    assert_eq!(greedy(bias(&[(2, 100.0), (0, -100.0)]), &[], &[], &[5.0, 4.0, -90.0]), 2);
    // (3 / 2) + 1 is 2.5; were the bias added first, (3 + 1) / 2 would be 2.
    let both = SamplingParams { repetition_penalty: 2.0, ..bias(&[(0, 1.0)]) };
    assert_eq!(greedy(both, &[0], &[], &[3.0, 2.2]), 0);
    for temperature in [0.0, 1.0] {
        let params = SamplingParams { temperature, ..bias(&[(0, 100.0)]) };
        let mut sampler = Sampler::new(params, &[]).unwrap();
        assert_eq!(sampler.sample(&[5.0, 4.0, -90.0], Some(&allow(&[2], 3))), Ok(2));
        assert_eq!(sampler.sample(&[5.0, 4.0, -90.0], Some(&allow(&[], 3))), Err(LogitsError::Nothing));
        assert_eq!(sampler.sample(&[5.0, 4.0, -90.0], Some(&allow(&[1], 2))), Ok(1), "a mask may be shorter than a padded row");
        assert_eq!(sampler.sample(&[5.0, 4.0], Some(&allow(&[1, 39], 40))), Ok(1), "or longer");
    }
}

#[test]
fn a_mask_renormalises() {
    let logits = [6f32, 3.0, 2.0, 1.0].map(f32::ln);
    let (set, mut seen) = (allow(&[1, 3], 4), [0usize; 4]);
    let mut sampler = Sampler::new(PARAMS, &[]).unwrap();
    for _ in 0..40_000 {
        seen[sampler.sample(&logits, Some(&set)).unwrap() as usize] += 1;
    }
    assert_eq!((seen[0], seen[2]), (0, 0));
    assert!((seen[1] as f64 - 30_000.0).abs() < 5.0 * 87.0, "{seen:?}");
}

#[test]
fn only_what_a_row_can_say_is_plain() {
    let is_plain = |params| Sampler::new(params, &[]).unwrap().is_plain();
    assert!(is_plain(SamplingParams { top_k: 5, top_p: 0.5, ..PARAMS }) && is_plain(bias(&[])));
    assert!(is_plain(SamplingParams { min_p: 0.5, temperature: 0.0, ..PARAMS }), "greedy leaves nothing to min_p");
    for params in [
        SamplingParams { min_p: 0.1, ..PARAMS },
        SamplingParams { frequency_penalty: 0.1, temperature: 0.0, ..PARAMS },
        SamplingParams { presence_penalty: -0.1, ..PARAMS },
        SamplingParams { repetition_penalty: 1.1, ..PARAMS },
        bias(&[(0, 1.0)]),
    ] {
        assert!(!is_plain(params.clone()), "{params:?}");
    }
}

/// eng-robust-01
#[test]
fn ranges_are_told_with_the_parameter() {
    for (params, text) in [
        (SamplingParams { min_p: 1.5, ..PARAMS }, "min_p is 1.5, and must be between 0 and 1"),
        (SamplingParams { min_p: f32::NAN, ..PARAMS }, "min_p is NaN, and must be between 0 and 1"),
        (SamplingParams { frequency_penalty: 2.5, ..PARAMS }, "frequency_penalty is 2.5, and must be between -2 and 2"),
        (SamplingParams { presence_penalty: f32::NAN, ..PARAMS }, "presence_penalty is NaN, and must be between -2 and 2"),
        (SamplingParams { repetition_penalty: 0.0, ..PARAMS }, "repetition_penalty is 0, and must be between 0.01 and 100"),
        (
            SamplingParams { repetition_penalty: f32::INFINITY, ..PARAMS },
            "repetition_penalty is inf, and must be between 0.01 and 100",
        ),
        (bias(&[(3, 100.5)]), "logit_bias of token 3 is 100.5, and must be between -100 and 100"),
        (bias(&[(1_000_000_000, 1.0)]), "logit_bias names token 1000000000, and the vocabulary has 100"),
    ] {
        let error = params.check(100).unwrap_err();
        assert_eq!(error.to_string(), text);
        assert!(text.starts_with(error.param()));
    }
    assert_eq!(bias(&[(99, -100.0)]).check(100), Ok(()));
}
