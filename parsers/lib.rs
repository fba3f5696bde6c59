//! Octets to frames and back, for the protocols that sizegate speaks.
