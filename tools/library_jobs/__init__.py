"""Small jobs of libraries that stand on TensorFlow; a function is a job, its result is compared."""
