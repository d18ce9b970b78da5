"""Harbor folders: scenarios of machines in the form that other people's runners take: written,
read, held to the format, graded."""
