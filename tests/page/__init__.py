"""The page in a real browser: journeys, accessibility, and the screenshots of the documentation."""
