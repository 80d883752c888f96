std::ospanstream os(std::span<char>(p->room, 100)); os << 12 << "ab"; std::cout << p->room[0] << p->room[3];
// prints: 1b
std::ostrstream os(p->room, 100); os << 12 << "ab" << std::ends; std::cout << p->room;
// prints: 12ab
std::strstreambuf both(p->room, 100, p->room); std::ostream os(&both); os << "text"; bump(p); os << '!';
std::cout << std::string_view(p->room, 5);
// prints: text!
Area area; area.put_to(p->room); std::ostream os(&area); os << 3.5 << "xy" << std::flush; bump(p); os.write("zz", 2);
std::cout << std::string_view(p->room, 7);
// prints: 3.5xyzz
Area area; area.put_to(p->room); area.sputn("hello", 5); area.sputc('!'); std::cout << std::string_view(p->room, 6);
// prints: hello!
Area area; area.put_to(p->room); std::ostreambuf_iterator<char> it(&area);
std::use_facet<std::num_put<char>>(std::locale()).put(it, std::cout, ' ', 77L);
std::cout << std::string_view(p->room, 2);
// prints: 77
Area area; area.put_to(p->room); std::cin.tie(); std::istringstream in("from a stream"); in >> &area;
std::cout << std::string_view(p->room, 13);
// prints: from a stream
Area area; area.put_to(p->room); std::streambuf *own = kept_stream.rdbuf();
static_cast<std::ios &>(kept_stream).rdbuf(&area); kept_stream << 81; static_cast<std::ios &>(kept_stream).rdbuf(own);
std::cout << std::string_view(p->room, 2);
// prints: 81
std::stringbuf made(std::move(p->long_text), std::ios::out); std::ostream os(&made); os << "over";
std::cout << made.str().substr(0, 6);
// prints: overxt
std::string own = std::move(p->long_text); std::istringstream in("new words"); std::getline(in, own);
std::cout << own;
// prints: new words
std::string own = std::move(p->long_text); std::istringstream in("new words"); in >> own; std::cout << own;
// prints: new
std::wstring own = std::move(p->wide_text); own.replace(1, 2, L"yy"); own += L"x"; std::cout << own.size();
// prints: 39
std::list<int> own = std::move(p->list); own.push_back(7); own.push_front(8); own.reverse(); own.sort();
own.pop_back(); std::cout << own.front() << own.back() << own.size();
// prints: 174
std::list<int> own{9}; own.splice(own.begin(), p->list); own.remove(1); own.unique(); std::cout << own.size();
// prints: 3
std::list<int> own{9}, other{8}; own.splice(own.end(), p->list); other.swap(own); own.push_back(4);
other.push_back(5); std::cout << other.size() << own.size();
// prints: 52
std::map<int, int> own = std::move(p->map); for (int i = 0; i < 40; i++) own[i * 7 % 41] = i;
for (int i = 3; i < 30; i += 2) own.erase(i); std::cout << own.size();
// prints: 27
std::map<int, int> own; for (int i = 0; i < 9; i++) own[i] = i; own.merge(p->map); own.erase(2); own.erase(11);
std::cout << own.size();
// prints: 11
std::runtime_error copy = *p->failure; bump(p); { std::runtime_error again = copy; } std::cout << copy.what();
// prints: it failed
try { throw *p->failure; } catch (std::runtime_error &e) { std::cout << e.what(); }
// prints: it failed
std::filesystem::directory_iterator own = p->folder; bump(p); ++own; ++own;
std::cout << (own != std::filesystem::directory_iterator());
// prints: 1
std::filesystem::path own = std::move(p->path); own /= "more"; own.replace_extension(".x"); std::cout << own.string();
// prints: /a/rather/long/path/of/names/more.x
std::pmr::monotonic_buffer_resource small(p->room, 10000); std::pmr::unsynchronized_pool_resource pool(&small);
std::pmr::vector<int> v(&pool); for (int i = 0; i < 50; i++) v.push_back(i);
std::pmr::string s("a string that is long enough", &small); std::cout << v[49] << s.size();
// prints: 4928
std::ostringstream os; os.imbue(p->locale); bump(p); os << 1234; std::locale own = os.getloc(); bump(p);
{ std::locale other = own; } std::cout << os.str();
// prints: 1,234
std::ostream os(p->out.rdbuf()); os << 12 << "34"; os.seekp(1); os << 'x'; std::cout << p->out.str();
// prints: 1x34
std::cout << std::stold("2.5") + std::stod("1.25");
// prints: 3.75
p->out << "e" << std::endl; std::cout << p->out.str().size();
// prints: 2
std::shared_ptr<int> own = p->shared, other = own; std::weak_ptr<int> weak = own; std::cout << own.use_count();
// prints: 3
char own[100]; std::ofstream file; file.rdbuf()->pubsetbuf(own, 100); file.open("/dev/null"); file << 5;
std::cout << file.good() << std::stoi(p->long_text.substr(0, 0) + "7");
// prints: 17
silent << 5; std::ostream other(nullptr); other << 5; std::cout << silent.good() << other.good();
// prints: 00
std::regex pattern("a+b", std::regex::icase);
std::cout << std::regex_search("xxAab", pattern) << std::regex_replace("xaab", pattern, "-");
// prints: 1x-
