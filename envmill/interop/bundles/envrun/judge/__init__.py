"""What an exported folder's judge is made of besides our own verifiers: its process, and stand-ins
for the three libraries they use."""
