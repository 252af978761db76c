"""The proof that nothing is lost: every story of kills, faults and power cuts, judged by one list of promises."""
