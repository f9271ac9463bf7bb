//! Tests that hold for all three forms.

use proptest::prelude::*;

use super::*;

fn expand_with(algorithm: Algorithm, input: &[u8], size: usize) -> (Result<usize, Error>, Vec<u8>) {
    let mut out = vec![1, 2, 3]; // earlier content stays
    let result = algorithm.decompress(input, &mut out, size);
    assert_eq!(out[..3], [1, 2, 3]);
    (result, out.split_off(3))
}

/// Data that compress: a few words again and again, runs and some noise.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![b"alloc".as_slice(), b"\0\0\0\0\xC0\x11", b"free", b"\xFF\xFF"]).prop_map(<[u8]>::to_vec),
        (any::<u8>(), 1usize..9000).prop_map(|(byte, n)| vec![byte; n]),
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(0u8..4, 0..3000),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_compressed_comes_back(data in data()) {
        for algorithm in Algorithm::ALL {
            let packed = algorithm.compress(&data);
            let (result, out) = expand_with(algorithm, &packed, data.len());
            prop_assert_eq!(result, Ok(packed.len()), "{}", algorithm.name());
            prop_assert!(out == data, "{}", algorithm.name());
        }
    }

    #[test]
    fn noise_compresses_to_little_more_and_comes_back(data in prop::collection::vec(any::<u8>(), 0..20_000)) {
        for algorithm in Algorithm::ALL {
            let packed = algorithm.compress(&data);
            prop_assert!(packed.len() <= data.len() + data.len() / 8 + 300, "{}", algorithm.name());
            prop_assert_eq!(expand_with(algorithm, &packed, data.len()), (Ok(packed.len()), data.clone()));
        }
    }

    #[test]
    fn the_good_part_of_cut_input_is_the_start_of_the_data(data in data(), cut in any::<prop::sample::Index>()) {
        prop_assume!(!data.is_empty());
        for algorithm in Algorithm::ALL {
            let packed = algorithm.compress(&data);
            let (result, out) = expand_with(algorithm, &packed[..cut.index(packed.len())], data.len());
            prop_assert!(data.starts_with(&out), "{}", algorithm.name());
            match result {
                Ok(_) => prop_assert_eq!(out.len(), data.len()), // only an end mark was cut
                Err(error) => prop_assert_eq!(error.good_bytes(), out.len()),
            }
        }
    }

    #[test]
    fn damage_never_panics_nor_overruns(
        data in data(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        size in 0usize..100_000,
    ) {
        for algorithm in Algorithm::ALL {
            let mut packed = algorithm.compress(&data);
            for (at, byte) in &flips {
                if !packed.is_empty() {
                    let n = packed.len();
                    packed[at.index(n)] = *byte;
                }
            }
            let (result, out) = expand_with(algorithm, &packed, size);
            prop_assert!(out.len() <= size);
            prop_assert_eq!(result.is_ok(), out.len() == size && result.is_ok());
            prop_assert_eq!(result.map_or_else(Error::good_bytes, |_| size), out.len());
        }
    }

    #[test]
    fn the_right_form_is_found_whatever_is_expected(data in data()) {
        prop_assume!(data.len() > 300);
        for written in Algorithm::ALL {
            let packed = written.compress(&data);
            for expected in Algorithm::ALL {
                let mut out = b"before".to_vec();
                prop_assert_eq!(expand(&packed, &mut out, data.len(), expected), Ok(written));
                prop_assert!(out.strip_prefix(b"before") == Some(&data[..]));
            }
        }
    }
}

#[test]
fn where_no_form_fits_the_expected_one_keeps_what_it_gave() {
    let data = b"0123456789".repeat(300);
    for algorithm in Algorithm::ALL {
        let mut packed = algorithm.compress(&data);
        packed.extend([7; 5]);
        let mut out = Vec::new();
        assert_eq!(expand(&packed, &mut out, data.len(), algorithm), Err(Misfit::LeftOver(5)));
        assert_eq!(out, data);
        out.clear();
        let misfit = expand(&packed[..packed.len() / 2], &mut out, data.len(), algorithm).unwrap_err();
        assert_eq!(misfit, Misfit::Broken(Error::InputEnds(out.len())));
        assert!(data.starts_with(&out));
    }
}
