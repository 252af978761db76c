# exercise 1.2-code
def checked(p):
    if p < 0 or p >= 1:
        raise ValueError("p is to be a chance below 1")
    return p


def expected_turns_restart(n, p):
    total = 0
    for _ in range(n):
        total = (total + 1) / (1 - checked(p))
    return total


def expected_turns_resume(n, p):
    return n * 1 / (1 - checked(p))


def pays_off(n, p, overhead):
    return expected_turns_restart(n, p) > expected_turns_resume(n, p) + overhead * expected_turns_resume(n, p)
