
template <class T, int N> struct Array { T v[N]; T sum() const { T s{}; for (auto& x : v) s += x; return s; } };
struct Base { virtual ~Base(); virtual int f(int) = 0; };
Base::~Base() {}
template <int N> struct Fib { enum { value = Fib<N - 1>::value + Fib<N - 2>::value }; };
template <> struct Fib<0> { enum { value = 0 }; };
template <> struct Fib<1> { enum { value = 1 }; };
struct Derived : Base { Array<int, 8> a; int f(int x) override { if (x > 9) throw x; return a.sum() + Fib<20>::value; } };
int call(Base& b) { try { return b.f(10); } catch (int v) { return v; } }
int test() { Derived d; return call(d); }
