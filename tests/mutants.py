"""A small mutator: each mutant of a program differs from it in one place, as a slip of the hand would make it."""
import ast
import copy

FLIPS = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In,
         ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}


def mutants(text):
    """Each mutant once, as ``(what was changed, text)``; a slip in the words of an error or of a docstring is none."""
    tree, seen = ast.parse(text), set()
    for node in ast.walk(tree):
        for what, change in changes(node):
            mutant = copy.deepcopy(tree)
            twin = next(other for mine, other in zip(ast.walk(tree), ast.walk(mutant)) if mine is node)
            change(twin)
            new = ast.unparse(ast.fix_missing_locations(mutant))
            if new not in seen:
                seen.add(new)
                yield what, new


def changes(node):
    """What can be changed in one node: ``[(in words, function that does it to a twin), ...]``."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if type(operator) in FLIPS:
                yield f"{ast.unparse(node)}: other comparison", lambda twin, i=i: twin.ops.__setitem__(i, FLIPS[type(twin.ops[i])]())
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in FLIPS:
        yield f"{ast.unparse(node)}: other operator", lambda twin: setattr(twin, "op", FLIPS[type(twin.op)]())
    if isinstance(node, ast.If):
        for value in (True, False):
            yield f"if {ast.unparse(node.test)}: always {value}", lambda twin, value=value: setattr(twin, "test", ast.Constant(value))
    if isinstance(node, ast.Return) and node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield f"{ast.unparse(node)}: returns None", lambda twin: setattr(twin, "value", ast.Constant(None))
    if isinstance(node, ast.Dict):
        for i, key in enumerate(node.keys):
            if key is not None:
                yield f"{ast.unparse(node)}: without {ast.unparse(key)}", lambda twin, i=i: (twin.keys.pop(i), twin.values.pop(i))
    for name in ("body", "orelse", "handlers"):
        block = getattr(node, name, None)
        if not isinstance(block, list) or isinstance(node, ast.Module):
            continue
        for i, statement in enumerate(block):
            if isinstance(statement, (ast.Expr, ast.Assign, ast.Assert, ast.Raise, ast.AugAssign)) and not isinstance(getattr(statement, "value", None), ast.Constant):
                yield f"{ast.unparse(statement)}: left out", lambda twin, name=name, i=i: getattr(twin, name).__setitem__(i, ast.Pass())
            if i and isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(block[i - 1], (ast.Expr, ast.Assign)) and not is_docstring(block[i - 1]):
                yield f"{ast.unparse(statement)}: one line higher", lambda twin, name=name, i=i: getattr(twin, name).insert(i - 1, getattr(twin, name).pop(i))


def is_docstring(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
