//! Sampling from a mask that is ready does not allocate once the buffers have grown.

use structgen_decode::{
    SamplingParams,
    constraint::PlainMask,
    samplers::{
        AdaptivePParams, Candidates, DryParams, LengthDecayParams, RepetitionGuardParams,
        SamplerChain, SequenceStart, WatermarkParams, XtcParams, masked_argmax, masked_softmax,
    },
};
use structgen_vocab::{TokenId, TokenMask};

#[test]
fn sampling_from_a_ready_mask_allocates_nothing() {
    let logits: Vec<f32> = (0..5000).map(|i| ((i * 37) % 1009) as f32 / 90.0).collect();
    for every in [2, 300] {
        let mut mask = TokenMask::new(5000);
        mask.allow_all(&(0..5000).step_by(every).map(TokenId).collect::<Vec<_>>());
        let mask = PlainMask::new(mask);
        for top_k in [0, 40] {
            let params = SamplingParams {
                temperature: 0.7,
                top_k,
                top_p: 0.9,
                min_p: 0.01,
                typical_p: 0.95,
                epsilon_cutoff: 1e-5,
                eta_cutoff: 1e-5,
                top_n_sigma: 3.0,
                top_h: 0.95,
                xtc: Some(XtcParams {
                    probability: 0.5,
                    threshold: 0.1,
                }),
                adaptive_p: Some(AdaptivePParams::default()),
                repetition_penalty: 1.1,
                repetition_guard: Some(RepetitionGuardParams::default()),
                frequency_penalty: 0.1,
                frequency_window: 8,
                dry: Some(DryParams::default()),
                no_repeat_ngram: 4,
                bad_words: vec![vec![7, 8]],
                suppress: vec![9],
                length_decay: Some(LengthDecayParams {
                    start: 3,
                    factor: 1.1,
                }),
                watermark: Some(WatermarkParams::default()),
                ..SamplingParams::default()
            };
            let mut chain = SamplerChain::new(&params, 0).unwrap();
            chain.reset(SequenceStart {
                prompt: &[TokenId(1); 300],
                prefilled: 0,
                eos: &[TokenId(2)],
            });
            let mut candidates = Candidates::default();
            let mut step = || {
                chain.fill(&mut candidates, &logits, &mask, &[TokenId(600)]);
                let chosen = chain.choose(&mut candidates).unwrap();
                chain.accept(chosen);
                let softmax = masked_softmax(&logits, &mask, &[]).unwrap();
                assert!(softmax.max() >= logits[chosen.token.index()]);
                assert!(masked_argmax(&logits, &mask, &[]).is_some());
            };
            step();
            let measured = allocation_counter::measure(|| (0..20).for_each(|_| step()));
            assert_eq!(measured.count_total, 0, "top-k {top_k}, one in {every}");
        }
    }
}
