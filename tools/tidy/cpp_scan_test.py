"""The scanner: which functions it sees in C++ that is hard to read without a compiler."""

import unittest

from cpp_scan import scan_cpp
from cpp_text import MaskedCpp


def functions_in(code):
    """(name, lines, parameters) of each."""
    found = scan_cpp(MaskedCpp(code)).functions
    return [(f.name, f.line_count, [" ".join(p) for p in f.parameters]) for f in found]


class ScanTest(unittest.TestCase):
    def assert_functions(self, code, *names):
        self.assertEqual([name for name, _, _ in functions_in(code)], list(names), code)

    def test_lines_are_counted_from_the_template_head_to_the_closing_brace(self):
        code = "template <class T>\nauto f(T t)\n    -> T {\n  return t;\n}\n"
        self.assertEqual(functions_in(code), [("f", 5, ["T t"])])

    def test_a_declaration_has_no_lines(self):
        self.assertEqual(functions_in("int f(int a);"), [("f", 0, ["int a"])])

    def test_parameters_are_split_at_their_own_commas_only(self):
        code = "void f(std::map<int, int> a, int b = g(1, 2), S c = {1, 2}, int (&d)[2]);"
        first, *rest = functions_in(code)[0][2]
        self.assertEqual(first, "std :: map < int , int > a")
        self.assertEqual(rest, ["int b = g ( 1 , 2 )", "S c = {}", "int ( & d ) [ 2 ]"])

    def test_members_carry_the_name_of_their_class(self):
        self.assert_functions("struct A::B final : C<D> { void f(); ~B() {} };", "B::f", "B::~B")
        self.assert_functions("Status A::B::f() { return {}; }", "A::B::f")

    def test_scopes_are_read_through(self):
        self.assert_functions("namespace a::b { inline namespace { void f() {} } }", "f")
        self.assert_functions('extern "C" { void f(); }', "f")
        self.assert_functions("class [[nodiscard]] alignas(8) A { public: A(); };", "A::A")
        self.assert_functions("template <> struct std::hash<A> { int f(); };", "hash::f")
        self.assert_functions("BEGIN_NAMESPACE(x)\nnamespace a { void f(); }", "f")

    def test_constructors_end_their_initialiser_lists(self):
        code = "A::A(int a) noexcept : B<int>{a}, c_(a), d_{[](int x) { return x; }} {\n}\n"
        self.assertEqual(functions_in(code)[-1], ("A::A", 2, ["int a"]))
        code = "A::A(S s) : v_(std::visit([](auto x) { return x; }, s)) {}\nvoid f() {}"
        self.assert_functions(code, "lambda", "A::A", "f")

    def test_operators_are_functions(self):
        code = """
            bool operator<(A, A); A& operator = (A); int operator()(int) { return 1; }
            auto operator<=>(A, A) = default; explicit operator bool() const;
            A::operator unsigned long() const { return 1; } A operator"" _a(int);
        """
        symbols = ("operator<", "operator=", "operator()", "operator<=>")
        conversions = ("operator bool", "A::operator unsigned long")
        self.assert_functions(code, *symbols, *conversions, 'operator"" _a')

    def test_values_are_no_functions(self):
        for code in (
            "std::atomic<int> a{f};",
            "int table[] = {1, 2};",
            "std::function<void(int, bool)> callback_{};",
            "std::function<Status(bool)> callback;",
            "void (*handler)(int, bool) = nullptr;",
            "using F = void (*)(int);",
            "enum class A : int { kB = f(1), kC };",
            "template <class T> concept C = requires(T t) { t.f(); };",
            "static_assert(f(1));",
            "RECTO_REGISTER(a, b);",
        ):
            with self.subTest(code):
                self.assert_functions(code)

    def test_requires_clauses_do_not_hide_functions(self):
        self.assert_functions("template <class T> requires C<T> void f(T t) {}", "f")
        self.assert_functions("template <class T> void f(T t) requires (A<T> && B<T>) {}", "f")
        self.assert_functions("template <class T> requires requires { T::g(); } void f() {}", "f")

    def test_macros_before_and_behind_do_not_rename_functions(self):
        self.assert_functions("RC_OPERATORS(A)\nvoid f() GUARDED_BY(mutex_) {}", "f")

    def test_test_cases_go_by_their_sentences(self):
        self.assert_functions('TEST_CASE("a, (b) {") { SECTION("c") {} }', "TEST_CASE(a, (b) {)")

    def test_comments_strings_and_directives_hold_no_braces(self):
        code = """
            void f() {  // {
              const char* a = "{\\"{"; char b = '{'; int c = 1'000;  /* { */
              auto d = R"x( { )" )x";
            #define OPEN {
            }
            void g() {}
        """
        self.assert_functions(code, "f", "g")

    def test_a_brace_without_partner_is_reported(self):
        self.assertEqual(scan_cpp(MaskedCpp("\nvoid f() {\n")).unbalanced_line, 2)
        self.assertEqual(scan_cpp(MaskedCpp("void f() {}\n}\n")).unbalanced_line, 2)

    def test_comparisons_in_template_defaults_are_no_brackets(self):
        heads = scan_cpp(MaskedCpp("template <class T, int = (sizeof(T) > 1), int N = 2> class A;"))
        self.assertEqual(len(heads.templates[0].parameters), 3)


if __name__ == "__main__":
    unittest.main()
