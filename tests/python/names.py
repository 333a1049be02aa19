import inspect

import v___package as package

assert package.__all__ == ["lambda_2", "runtime_2", "exp", "print"], package.__all__
for name in package.__all__:
    assert getattr(package, name).__doc__, name
assert package.lambda_2(class_2=[2, 3]).tolist() == [4, 9]
(key, value), = package.runtime_2([2, 3]).items()
assert key == "\"\\\n'''\"\"\"" and value["x"].tolist() == [4, 9]
assert package.exp(([2, 3],))["ö"]["\U0001F600"].tolist() == [4, 9]
assert package.print([2, 3]).tolist() == [4, 9]
assert str(inspect.signature(package.runtime_2)) == "(self)", inspect.signature(package.runtime_2)
