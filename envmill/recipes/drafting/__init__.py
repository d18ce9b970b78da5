"""What all recipes share when they have scenarios written: contracts, chains carried out,
rewordings, verifiers finished."""
