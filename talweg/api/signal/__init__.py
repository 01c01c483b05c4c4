"""tf.signal: transforms, frames, windows and spectra."""
