//! The two providers against each other.

use proptest::prelude::*;

use super::*;

fn sealed<P: Provider>(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], text: &[u8]) -> Vec<u8> {
    let (mut text, mut tag) = (text.to_vec(), [0; TAG]);
    P::seal(&P::aead(key), nonce, aad, &mut text, &mut tag).unwrap();
    text.extend_from_slice(&tag);
    text
}

fn opened<P: Provider>(
    key: &[u8; 32],
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, SealError> {
    let (text, tag) = sealed.split_last_chunk().unwrap();
    let mut text = text.to_vec();
    P::open(&P::aead(key), nonce, aad, &mut text, tag).map(|()| text)
}

fn agreed<P: Provider>(ours: &[u8; 32], theirs: &[u8; 32]) -> Option<[u8; 32]> {
    P::agree(&P::private(ours).unwrap(), theirs).ok().map(|shared| *shared)
}

proptest! {
    #[test]
    fn what_one_seals_the_other_opens(
        key: [u8; 32],
        nonce: [u8; 12],
        aad in proptest::collection::vec(any::<u8>(), 0..=2),
        text in proptest::collection::vec(any::<u8>(), 0..=2048),
    ) {
        let by_aws = sealed::<Aws>(&key, &nonce, &aad, &text);
        let by_rust = sealed::<Rust>(&key, &nonce, &aad, &text);
        prop_assert_eq!(&by_aws, &by_rust);
        prop_assert_eq!(opened::<Rust>(&key, &nonce, &aad, &by_aws), Ok(text.clone()));
        prop_assert_eq!(opened::<Aws>(&key, &nonce, &aad, &by_rust), Ok(text));
    }

    #[test]
    fn masks_are_equal(key: [u8; 32], block: [u8; 16]) {
        let by_aws = Aws::mask_of(&Aws::mask(&key), &block);
        prop_assert_eq!(by_aws, Rust::mask_of(&Rust::mask(&key), &block));
    }

    #[test]
    fn key_agreement_is_equal(ours: [u8; 32], theirs: [u8; 32]) {
        let public = Aws::public(&Aws::private(&theirs).unwrap()).unwrap();
        prop_assert_eq!(public, Rust::public(&Rust::private(&theirs).unwrap()).unwrap());
        prop_assert_eq!(agreed::<Aws>(&ours, &public), agreed::<Rust>(&ours, &public));
        // Half of all strings are points of the twist; both must take them alike.
        prop_assert_eq!(agreed::<Aws>(&ours, &theirs), agreed::<Rust>(&ours, &theirs));
    }
}

/// The exchange of RFC 7748, section 6.1.
#[test]
fn key_agreement_is_that_of_the_rfc() {
    let hex = |text: &str| -> [u8; 32] {
        std::array::from_fn(|at| {
            u8::from_str_radix(text.get(2 * at..2 * at + 2).unwrap(), 16).unwrap()
        })
    };
    let alice = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    let bob = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_eq!(agreed::<Aws>(&alice, &bob), Some(shared));
    assert_eq!(agreed::<Rust>(&alice, &bob), Some(shared));
}
