"""The papers' tables and figures on the data at hand: `python -m experiments NAME`. Not installed."""
