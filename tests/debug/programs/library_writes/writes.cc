std::istringstream in("77 88 9.5 word c"); in >> p->number >> p->big >> p->real >> p->text >> p->letter;
std::cout << p->number << p->big << p->real << p->text << p->letter;
// prints: 77889.5wordc
std::istringstream in("1 1 0x10 5"); bool yes; in >> yes >> p->yes >> std::hex >> p->number >> p->size;
std::cout << p->yes << p->number << p->size;
// prints: 1165
std::istringstream in("a line of text\nand more"); std::string own; std::getline(in, own); std::getline(in, p->text);
std::cout << own << ',' << p->text;
// prints: a line of text,and more
std::istringstream in("a line of text, longer than what is kept inside\nand more"); std::getline(in, p->text);
std::cout << p->text.size();
// prints: 47
std::istringstream in("text in pieces"); in.get(p->room, 5).read(p->room + 5, 3);
std::cout << p->room << in.gcount() << p->room[6];
// prints: text3i
std::istringstream in("one two"); in.getline(p->room, 20, ' '); std::cout << p->room;
// prints: one
std::ifstream in("/bin/sh", std::ios::binary); in.read(p->room, sizeof p->room);
std::cout << in.gcount() << p->room[1];
// prints: 20000E
std::ifstream in("input"); in >> p->number >> p->text; std::cout << p->number << p->text;
// prints: 31line
std::ifstream in("input"); std::cout << in.rdbuf()->sgetn(p->room, 4) << p->room[1];
// prints: 41
auto [at, error] = std::from_chars("12x", "12x" + 2, p->number); std::cout << p->number;
// prints: 12
std::from_chars("2.5x", "2.5x" + 3, p->real); std::cout << p->real;
// prints: 2.5
auto [at, error] = std::to_chars(p->room, p->room + 20, 1.25); *at = 0; std::cout << p->room;
// prints: 1.25
auto [at, error] = std::to_chars(p->room, p->room + 20, 1234); *at = 0; std::cout << p->room;
// prints: 1234
std::cout << std::stoi("12ab", &p->size) << p->size;
// prints: 122
std::string upper = "x"; std::use_facet<std::ctype<char>>(std::locale()).toupper(p->room, p->room + 3);
std::use_facet<std::ctype<char>>(std::locale()).toupper(upper.data(), upper.data() + 1);
std::cout << upper << p->room;
// prints: XABCd
abi::__cxa_demangle("?", nullptr, nullptr, &p->number); std::cout << p->number;
// prints: -2
std::cout << std::string("copied").copy(p->room, 6) << p->room;
// prints: 6copied
std::locale copy = out.getloc(); kept_locale = copy; std::cout << copy.name();
// prints: C
std::ostringstream os; os.imbue(out.getloc()); os << 5; std::cout << os.str();
// prints: 5
kept_pointer = p->thrown; std::cout << (kept_pointer == p->thrown);
// prints: 1
std::lock_guard<std::mutex> hold(p->lock); std::cout << p->lock.try_lock();
// prints: 0
std::cout << once();
// prints: made at last
std::cout << once() << once().size(); once() += "more"; std::cout << once().size();
// prints: made at last1216
std::time_t t = 0;
std::cout << std::put_time(std::gmtime(&t), "%Y")
<< (std::istringstream("2001") >> std::get_time(&p->tm, "%Y")).good() << p->tm.tm_year;
// prints: 19700101
p->random.discard(3); std::cout << (p->random() != 0) << std::uniform_int_distribution<int>(3, 3)(p->random);
// prints: 13
std::cout << std::filesystem::exists("/none", p->error)
<< std::filesystem::file_size("/none", p->error) + 1 << p->error.value();
// prints: 002
std::error_code error; p->path = std::filesystem::current_path(error);
std::cout << p->path.is_absolute() << p->path.empty();
// prints: 10
std::copy_n("abc", 3, p->text.begin()); std::cout << p->text;
// prints: abcin
std::stable_sort(p->table, p->table + 4); std::cout << p->table[0] << p->table[3];
// prints: 14
std::vector<int> own{9, 8}; std::swap_ranges(own.begin(), own.end(), p->table); std::cout << p->table[0] << own[0];
// prints: 93
std::fill_n(p->flags.begin(), 3, true); p->flags.flip(); std::cout << p->flags[0] << p->flags[5];
// prints: 01
auto strings = std::vector<std::string>(3, p->text); strings[0] += "x"; std::cout << strings[0];
// prints: beginx
try { std::stoi(p->text, &p->size); } catch (std::invalid_argument &e) { std::cout << e.what(); }
// prints: stoi
int key = 3; try { std::bsearch(&key, p->table, 4, sizeof key, throwing); }
catch (int n) { std::cout << "caught " << n << ' '; } std::sscanf("8", "%d", &p->number);
std::cout << p->number << tag(p->number);
// prints: caught 5 89
try { p->text.at(100) = 'c'; } catch (std::out_of_range &e) { std::cout << "out of range"; }
// prints: out of range
