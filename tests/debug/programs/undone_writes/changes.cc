v.push_back(77); std::printf("%zu %d", v.size(), v.back());
// prints: 5 77
v.clear(); std::printf("%zu", v.size());
// prints: 0
v.resize(100); v.shrink_to_fit(); std::printf("%zu", v.size());
// prints: 100
v.erase(v.begin()); v.insert(v.begin(), 9); std::printf("%d", v[0]);
// prints: 9
std::swap(v, kept); kept.push_back(1); std::printf("%zu", kept.size()); kept = {};
// prints: 5
std::sort(v.begin(), v.end()); std::printf("%d", v[0]);
// prints: 0
for (int &x : v) x += 10; std::printf("%d", v[0]);
// prints: 13
kept = std::move(v); std::printf("%zu", v.size()); kept = {};
// prints: 0
s.append(50, 'x'); s.push_back('y'); std::printf("%zu", s.size());
// prints: 91
t.append("long enough to leave its place"); std::printf("%s", t.c_str());
// prints: shortdlong enough to leave its place
s.insert(0, "zz"); s.erase(2, 1); s.replace(0, 1, "a much longer beginning of it, of the program's heap");
std::printf("%c", s[0]);
// prints: a
std::string other = std::move(s); std::printf("%zu %zu", s.size(), other.size());
// prints: 0 40
std::string other = std::move(t); std::printf("%zu %zu", t.size(), other.size());
// prints: 0 6
s.swap(text); std::printf("%zu", text.size()); text = "";
// prints: 40
m.insert({7, 8}); m.erase(1); std::printf("%zu %d", m.size(), m.begin()->first);
// prints: 3 0
for (auto &[k, x] : m) x++; std::printf("%d", m.at(1));
// prints: 3
std::printf("%d", m[99]);
// prints: 0
m.clear(); std::printf("%zu", m.size());
// prints: 0
u.rehash(100); u.emplace("b", 2); u.erase("a"); std::printf("%zu", u.size());
// prints: 2
l.push_back(4); l.pop_front(); l.sort(); l.reverse(); std::printf("%zu %d", l.size(), l.front());
// prints: 4 4
l.splice(l.begin(), std::list<int>{7, 8}); std::printf("%d", l.front());
// prints: 7
d.push_back(4); d.push_front(5); std::printf("%d", d.front());
// prints: 5
os << "and " << 5; std::printf("%s", os.str().c_str());
// prints: x0and 5
os.str("other"); std::printf("%s", os.str().c_str());
// prints: other
std::shared_ptr<int> copy = shared; keeper = shared; std::printf("%ld", shared.use_count()); keeper.reset();
// prints: 3
shared.reset(); std::printf("%d", shared == nullptr);
// prints: 1
auto taken = std::move(unique); std::printf("%d", *taken);
// prints: 6
maybe.reset(); maybe.emplace(8); std::printf("%d", *maybe);
// prints: 8
p.set(99); std::printf("%d", p.get());
// prints: 99
pp->set(98); pp->name.clear(); std::printf("%d %zu", p.get(), p.name.size());
// prints: 98 0
std::printf("%d %d", p.bump(), pp->bump());
// prints: 2 3
Part moved = std::move(p); std::printf("%s %zu", moved.name.c_str(), p.name.size());
// prints: part 4
std::printf("%d %d", change(pp), seen);
// prints: 4 4
std::printf("%d %d", counter(), counter());
// prints: 7 8
std::printf("%d %d", add_to_inline(), inline_variable);
// prints: 8 8
std::printf("%d", Part::count_up());
// prints: 5
bump_template(n); bump_template(pp->value); std::printf("%d", p.value);
// prints: 2
out << "by the program's stream " << 5 << std::flush;
// prints: by the program's stream 5
