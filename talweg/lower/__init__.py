"""Program to loop program: what a kernel reads, computes and writes, as loops."""
