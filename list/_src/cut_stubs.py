import sys
m = sys.modules['__main__']
b = m if hasattr(m, 'STUBS') else sys.modules['build']
build_stubs, build_stub = b.STUBS, b.Stub()
