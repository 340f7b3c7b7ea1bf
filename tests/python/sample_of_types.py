"""Types that checkers must infer for the package: `assert_type` states one, an ignored error is a mistake that has to be found.

Read by mypy and pyright in test_package.py (strict: an ignore that ignores nothing is an error), never run.
"""
from typing import TYPE_CHECKING, Any

import fabricost as fc
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import assert_type

    system = fc.load_system("dgx-h100")
    one = fc.predict(system, fc.AllReduce(bytes=256 * fc.MiB, ranks=64))
    assert_type(one, fc.Prediction)
    assert_type(one.seconds, float)
    assert_type(one.norm, fc.FusedNorm | None)
    assert_type(fc.predict("dgx-h100", fc.SendRecv(1e6, path="nic")), fc.Prediction)
    assert_type(fc.predict(system, fc.AllToAll(np.float64(1e6), nodes=np.int64(2)), algorithm=fc.Algorithm.ring), fc.Prediction)

    many = fc.predict(system, fc.AllReduce(2.0 ** np.arange(10, 30), ranks=8))
    assert_type(many, fc.Predictions)
    assert_type(many.seconds, NDArray[np.float64])
    assert_type(fc.predict(system, fc.AllGather(1e6, nodes=[1, 2, 4])), fc.Predictions)
    assert_type(fc.predict(system, fc.MoeDispatch(128, hidden=7168, experts=256, top_k=8)), fc.MoePrediction)


    def not_known_before(operation: fc.Operation, names: dict[str, Any]) -> str:
        return str(fc.predict(system, operation, **names))


    fc.AllReduce(1e6, dtype="bananas")  # type: ignore[call-overload]
    fc.SendRecv(1e6, path="carrier pigeon")  # type: ignore[call-overload]
    fc.predict(system, fc.AllReduce(1e6), algorithm="bananas")  # type: ignore[call-overload]
    fc.predict(system, fc.AllReduce(1e6), protocol="ll256")  # type: ignore[call-overload]
    fc.predict(system, fc.MoeDispatch(128, hidden=7168, experts=256, top_k=8), algorithm="ring")  # type: ignore[call-overload]
    fc.predict(system, "all_reduce")  # type: ignore[call-overload]
    fc.plan_serve("dgx-h100", "llama3-70b", gpus=8, precision="fp5")  # type: ignore[arg-type]
    one.secnds  # type: ignore[attr-defined]  # noqa: B018
    many.bottleneck.tier  # type: ignore[attr-defined]  # noqa: B018
    one.seconds = 1.0  # type: ignore[misc]
