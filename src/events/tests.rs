//! Tests of payload layouts on hand-made bytes.
