"""tf.saved_model: objects with functions and state as folders that TensorFlow reads, and back.

`surveying` finds what hangs below an object, `functions` writes traces as functions of a library,
`graph` what is around them, `saving` puts the parts together.  `loading` makes objects of a saved
model, `restored` its functions.  `structured_values` goes between nests and messages.
"""
