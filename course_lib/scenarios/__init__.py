"""Tasks with their tools and their small world on disk. No widgets, no notebook."""
from .sales_report import SALES_REPORT

SCENARIOS = {scenario.name: scenario for scenario in (SALES_REPORT,)}
