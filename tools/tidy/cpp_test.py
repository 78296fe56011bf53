"""The scanner: which functions it sees in C++ that is hard to read without a compiler."""

import unittest

from tree import File


def scan(code):
    return File("a.h", code.encode()).declarations


def functions_in(code):
    """(name, lines, parameters) of each."""
    found = [each for each in scan(code).all if each.name != "template"]
    return [(each.name, each.line_count, each.parameters) for each in found]


class ScanTest(unittest.TestCase):
    def assert_functions(self, code, *names):
        self.assertEqual([name for name, _, _ in functions_in(code)], list(names), code)

    def test_lines_are_counted_from_the_template_head_to_the_closing_brace(self):
        code = "template <class T>\nauto f(T t)\n    -> T {\n  return t;\n}\n"
        self.assertEqual(functions_in(code), [("f", 5, ["T t"])])
        self.assertEqual(functions_in("int f(int a);"), [("f", 0, ["int a"])])

    def test_parameters_are_split_at_their_own_commas_only(self):
        code = "void f(std::map<int, int> a, int b = g(1, 2), S c = {1, 2}, int (&d)[2]);"
        expected = ["std::map<int, int> a", "int b = g(1, 2)", "S c = {1, 2}", "int (&d)[2]"]
        self.assertEqual(functions_in(code)[0][2], expected)

    def test_scopes_are_read_through(self):
        self.assert_functions("struct A::B final : C<D> { void f(); ~B() {} };", "f", "B")
        self.assert_functions("namespace a::b { inline namespace { void f() {} } }", "f")
        self.assert_functions('extern "C" { void f(); }', "f")
        self.assert_functions("class [[nodiscard]] alignas(8) A { public: A(); };", "A")
        self.assert_functions("template <> struct std::hash<A> { int f(); };", "f")
        self.assert_functions("BEGIN_NAMESPACE(x)\nnamespace a { void f(); }", "f")

    def test_constructors_end_their_initialiser_lists(self):
        code = "A::A(int a) noexcept : B<int>{a}, c_(a), d_{[](int x) { return x; }} {\n}\n"
        self.assertEqual(functions_in(code)[-1], ("A", 2, ["int a"]))
        code = "A::A(S s) : v_(std::visit([](auto x) { return x; }, s)) {}\nvoid f() {}"
        self.assert_functions(code, "A", "f")

    def test_operators_are_functions(self):
        code = "bool operator<(A, A); auto operator<=>(A, A) = default; int operator()(int) {} A a;"
        self.assert_functions(code, "operator<", "operator<=>", "operator()")

    def test_values_are_no_functions(self):
        self.assert_functions("std::atomic<int> a{f}; int table[] = {1, 2}; static_assert(f(1));")
        self.assert_functions("std::function<Status(bool)> a; void (*f)(int, bool) = nullptr;")
        self.assert_functions("using F = void (*)(int); enum class A : int { kB = f(1), kC };")
        self.assert_functions("template <class T> concept C = requires(T t) { t.f(); };")

    def test_requires_clauses_and_macros_do_not_hide_functions(self):
        self.assert_functions("template <class T> requires C<T> void f(T t) {}", "f")
        self.assert_functions("template <class T> void f(T t) requires (A<T> && B<T>) {}", "f")
        self.assert_functions("RC_OPERATORS(A)\nvoid f() GUARDED_BY(mutex_) {}", "f")
        self.assert_functions('TEST_CASE("a, (b) {") { SECTION("c") {} }', "TEST_CASE")

    def test_comments_strings_and_directives_hold_no_braces(self):
        code = """void f() {  // {
              const char* a = "{\\"{"; char b = '{'; int c = 1'000;  /* { */
              auto d = R"x( { )" )x";
            #define OPEN {
            } void g() {}"""
        self.assert_functions(code, "OPEN", "f", "g")

    def test_a_bracket_without_partner_is_reported(self):
        self.assertEqual(scan("\nvoid f() {\n").unreadable_line, 2)
        self.assertEqual(scan("void f() {}\n}\n").unreadable_line, 2)

    def test_comparisons_in_template_defaults_are_no_brackets(self):
        head = scan("template <class T, int = (sizeof(T) > 1), int N = 2> class A;").all[0]
        self.assertEqual(len(head.template_parameters), 3)


if __name__ == "__main__":
    unittest.main()
