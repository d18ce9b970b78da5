"""What becomes of a real model's work: yield, wrong drops, unfair keeps, difficulty and exploits,
counted from kept files."""
