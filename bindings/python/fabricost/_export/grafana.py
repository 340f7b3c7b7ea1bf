"""A Grafana dashboard of `fabricost exporter`'s metrics."""
from __future__ import annotations

import json
from typing import Any

from .shared import Format, Made

_CALL = "{{communicator}} {{operation}} {{bytes}} B"
_PANELS = (  # title, kind, unit, queries with their legends
    ("Slow communicators", "stat", "short", (('count(fabricost_verdict{verdict="slow"} == 1) or vector(0)', "slow"),)),
    ("Measured over predicted", "timeseries", "none", (("fabricost_measured_seconds / fabricost_predicted_seconds", _CALL),)),
    ("Measured beside the interval of nine in ten", "timeseries", "s", (
        ('fabricost_measured_seconds{communicator=~"$communicator"}', f"measured {_CALL}"),
        ('fabricost_predicted_low_seconds{communicator=~"$communicator"}', f"low {_CALL}"),
        ('fabricost_predicted_high_seconds{communicator=~"$communicator"}', f"high {_CALL}"))),
    ("Likely causes", "table", "percentunit", (("fabricost_cause", "{{communicator}}: {{cause}}, {{remedy}}"),)),
)


def dashboard() -> Made:
    source = {"type": "prometheus", "uid": "${source}"}
    panels: list[dict[str, Any]] = [
        {"id": at + 1, "title": title, "type": kind, "datasource": source, "gridPos": {"x": 12 * (at % 2), "y": 9 * (at // 2), "w": 12, "h": 9},
         "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
         "targets": [{"refId": chr(65 + n), "expr": expression, "legendFormat": legend, "datasource": source,
                      **({"format": "table", "instant": True} if kind == "table" else {})} for n, (expression, legend) in enumerate(queries)]}
        for at, (title, kind, unit, queries) in enumerate(_PANELS)]
    variables = [{"name": "source", "type": "datasource", "query": "prometheus"},
                 {"name": "communicator", "type": "query", "datasource": source, "query": "label_values(fabricost_measured_seconds, communicator)",
                  "includeAll": True, "multi": True, "refresh": 2}]
    board = {"title": "Collectives: measured and predicted", "uid": "fabricost", "schemaVersion": 39, "tags": ["fabricost", "nccl"],
             "time": {"from": "now-6h", "to": "now"}, "refresh": "30s", "templating": {"list": variables}, "panels": panels}
    return Made({"": (json.dumps(board, indent=1) + "\n").encode()}, ["Import it in Grafana (Dashboards, New, Import); it asks for a Prometheus source."])


FORMATS = [Format("grafana", "Grafana: a dashboard of `fabricost exporter`", dashboard, machine=False,
                  example="fabricost export grafana -o fabricost.json")]
