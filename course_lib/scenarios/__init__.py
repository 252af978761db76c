"""Tasks with their tools and their small world on disk. No widgets, no notebook."""
from .sales_report import SALES_REPORT
from .support_desk import SUPPORT_DESK

SCENARIOS = {f"{scenario.name}/{scenario.effect}": scenario for scenario in (SALES_REPORT, *SUPPORT_DESK.values())}
