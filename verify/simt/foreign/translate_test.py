#!/usr/bin/env python3
"""Tests how translate.py translates CUDA's syntax, and what it refuses."""

import unittest

import cuda_text
import translate


def body(source):
    """The translation, without the lines inserted before it."""
    return translate.translate(source, "x.cu").split("\n", 2)[2]


def in_kernel(source):
    """The translation of a kernel's body."""
    return body("void k() {" + source + "}").removeprefix("void k() {").removesuffix("}")


def refusal(source):
    try:
        body(source)
    except cuda_text.Failure as failure:
        return str(failure)
    return None


class Shared(unittest.TestCase):
    def test_an_array(self):
        self.assertEqual(
            in_kernel("__shared__ float red[2 * N];"),
            "typedef float red_shared_type[2 * N]; SIMT_FOREIGN_SHARED(red, red_shared_type, 1);",
        )

    def test_a_scalar_of_a_type_with_commas(self):
        self.assertEqual(
            in_kernel("__shared__ typename Foo<int, N>::Type t;"),
            "typedef typename Foo<int, N>::Type t_shared_type; "
            "SIMT_FOREIGN_SHARED(t, t_shared_type, 1);",
        )

    def test_an_alignment_is_kept(self):
        self.assertIn(
            "SIMT_FOREIGN_SHARED(a, a_shared_type, 16)",
            in_kernel("__shared__ __align__(16) char a[64];"),
        )

    def test_the_dynamic_part(self):
        self.assertEqual(
            in_kernel("extern __shared__ char smem[];"),
            "char* const smem = static_cast<char*>(::simt_foreign::dynamic_shared());",
        )

    def test_what_is_volatile_stays_so(self):
        self.assertEqual(
            in_kernel("__shared__ volatile int flag;"),
            "typedef volatile int flag_shared_type; "
            "SIMT_FOREIGN_SHARED(flag, flag_shared_type, 1);",
        )
        for source in [
            "extern volatile __shared__ float s[];",
            "extern __shared__ volatile float s[];",
        ]:
            self.assertEqual(
                in_kernel(source),
                "volatile float* const s = "
                "static_cast<volatile float*>(::simt_foreign::dynamic_shared());",
            )

    def test_variables_outside_of_functions_are_refused(self):
        for source in [
            "extern __shared__ float s[];",
            "namespace a::b {\n__shared__ int n;\n}",
            'namespace { extern "C" {\n__shared__ int n;\n} }',
            "void k() {} inline namespace v1 {}\n__shared__ int n;",
            "#define A {\n__shared__ int n;",
        ]:
            self.assertIn("within a function", refusal(source) or "", source)
        for source in [
            "void k() { extern __shared__ float s[]; }",
            "namespace a { struct X { void k() { if (a) {} __shared__ int n; } }; }",
            "#include <a.h>\nnamespace a {}\n#define S(n) \\\n __shared__ int n;\n",
            'namespace { extern "C" void k() { { __shared__ int n; } } }',
            "namespace [[deprecated]] a { void k(int n = int{3}) { __shared__ int m; } }",
        ]:
            self.assertIsNone(refusal(source), source)

    def test_variables_of_one_declaration_become_one_each(self):
        self.assertEqual(
            in_kernel("__shared__ volatile float a[4], b[2][3];"),
            "typedef volatile float a_shared_type[4]; SIMT_FOREIGN_SHARED(a, a_shared_type, 1); "
            "typedef volatile float b_shared_type[2][3]; "
            "SIMT_FOREIGN_SHARED(b, b_shared_type, 1);",
        )
        self.assertEqual(
            in_kernel("__shared__ __align__(16) Pair<int, N> a,\n b;").count("Pair<int, N> "), 2
        )
        self.assertEqual(
            in_kernel("__shared__ __align__(16) char a[4],\n b;").count("shared_type, 16)"), 2
        )
        self.assertEqual(in_kernel("__shared__ int a,\n b;").count("\n"), 1)
        self.assertIn(
            "1: expected one variable", refusal("void k() { __shared__ float *a, b; }")
        )

    def test_types_without_a_name_are_refused(self):
        for kind in ["union", "struct", "struct Tile"]:
            said = refusal(f"void k() {{\n__shared__ {kind} {{ float f[4]; int i[4]; }} u; }}")
            self.assertIn("2: expected the name of a type after __shared__", said)
        self.assertIsNone(refusal("void k() { __shared__ union Words w; }"))

    def test_an_initialiser_is_refused_with_its_line(self):
        self.assertIn("3: a __shared__ variable", refusal("void k() {\n\n__shared__ int a = 3; }"))


    def test_digit_separators_open_no_character(self):
        self.assertEqual(
            in_kernel("int n = 1'000; __shared__ int a[0x1'0]; char c = '1'; int m = 2'000;"),
            "int n = 1'000; typedef int a_shared_type[0x1'0]; "
            "SIMT_FOREIGN_SHARED(a, a_shared_type, 1); char c = '1'; int m = 2'000;",
        )

    def test_raw_strings_are_strings(self):
        source = 'auto s = R"x(" __shared__ int a; // )" <<< )x"; '
        self.assertEqual(in_kernel(source), source)
        self.assertIn("SHARED(b", in_kernel(source + "__shared__ int b;"))

    def test_what_is_left_over_is_refused_with_its_line(self):
        self.assertIn(
            "2: cannot translate this __shared__ in a macro", refusal("\n#define S __shared__\n")
        )
        self.assertIn("2: cannot translate", refusal("void k() {\n__shared__\n"))
        for source in ["#ifdef __shared__\n#undef __shared__\n#endif", "int my__shared__x;"]:
            self.assertEqual(body(source), source)


class LaunchBounds(unittest.TestCase):
    def test_kernels_check_them_first(self):
        check = " ::simt_foreign::require_launch_bounds(N, 2);"
        for kernel in [
            "__global__ void __launch_bounds__(N, 2) k(int a, F(*f)(int)) {",
            "template <int N> __launch_bounds__(N, 2)\n__global__ void k() {",
            "__global__ __launch_bounds__(N, 2) __cluster_dims__(1, 2) void k()\n{",
        ]:
            self.assertEqual(body(kernel + " f(); }"), kernel + check + " f(); }")

    def test_declarations_and_macros_stay(self):
        for source in [
            "__global__ void __launch_bounds__(128) k(int a);\nvoid f() { g(); }",
            "#define BOUNDS __launch_bounds__(128)\nvoid f() { g(); }",
            "__launch_bounds__(1)",
        ]:
            self.assertEqual(body(source), source)


class Headers(unittest.TestCase):
    def test_what_is_not_there_is_an_error_where_it_is_included(self):
        for header in ["<cuda/pipeline>", "<cuda/std/barrier>", '"cuda_awbarrier.h"']:
            self.assertEqual(
                body(f"#if N\n# include {header}  // of sm_80\n#endif"),
                f"#if N\n# error verify/simt: {header} is not supported; "
                "cp.async in PTX and the primitives of cuda_pipeline.h are\n#endif",
            )
        for source in ["#include <cuda/pipelines>", "#include <cuda_pipeline.h>"]:
            self.assertEqual(body(source), source)


class Launches(unittest.TestCase):
    def test_a_template_over_several_lines_keeps_the_lines(self):
        source = (
            "f<float, 128>\n    <<<dim3(1, 2), block, shm, stream>>>(\n        a, g(b, c));\nrest"
        )
        translated = body(source)
        self.assertIn(
            '::simt_foreign::launch("f<float, 128>", '
            "::simt_foreign::LaunchShape(dim3(1, 2), block, shm, stream), "
            "f<float, 128>, a, g(b, c))",
            translated,
        )
        self.assertEqual(translated.split("\n")[3], "rest")

    def test_braces_between_the_brackets(self):
        self.assertIn("LaunchShape(dim3{1, 2}, 32)", body("k<<<dim3{1, 2}, 32>>>(a);"))

    def test_no_arguments(self):
        self.assertEqual(
            body("ns::k<<<1, 2>>>();"),
            '::simt_foreign::launch("ns::k", ::simt_foreign::LaunchShape(1, 2), ns::k);',
        )

    def test_shifts_and_comments_are_no_launches(self):
        for source in ["a << b >> c;", 'x = "k<<<1, 2>>>()";']:
            self.assertEqual(body(source), source)
        self.assertEqual(body("// k<<<1, 2>>>()\n").strip(), "")

    def test_what_is_never_closed_is_refused(self):
        self.assertIn("2: a launch without >>>", refusal("\nk<<<1, 2(a);"))
        for source in [
            "k<<<1, 2(a); j<<<1, 2>>>(b);",
            "k<<<1, j<<<1, 2>>>(b)",
            "k<<<1, 2 }>>>(a)",
        ]:
            self.assertIn("1: a launch without >>>", refusal(source) or "", source)
        self.assertIn("never closed", refusal("k<<<1, 2>>>(a;"))


class Asm(unittest.TestCase):
    def test_operands_in_their_order(self):
        self.assertEqual(
            body(
                'asm volatile("fma.rn.f16 %0, %1, %2, %0;\\n" '
                ': "+h"(c) : "h"(a[0]), "h"(x::y(b, 2)));'
            ),
            '::simt_foreign::InlinePtx<"fma.rn.f16 %0, %1, %2, %0;\\n">'
            "()(::simt_foreign::changed(c), ::simt_foreign::read(a[0]), "
            "::simt_foreign::read(x::y(b, 2)));",
        )

    def test_literals_on_several_lines(self):
        translated = body('asm("mov.b32 "\n  "%0, %1;" : "=r"(a) : "r"(b));\nrest')
        self.assertIn('InlinePtx<"mov.b32 "   "%0, %1;">()', translated)
        self.assertEqual(translated.split("\n")[2], "rest")

    def test_no_outputs(self):
        self.assertIn(
            "(::simt_foreign::read(a))", body('asm volatile("mov.b32 t, %0;" :: "r"(a));')
        )

    def test_unknown_constraints_and_texts_that_are_no_literals_are_refused(self):
        self.assertIn("constraints h, r", refusal('asm("x;" : "=q"(a));'))
        self.assertIn("string literal", refusal("asm(TEXT : \"=r\"(a));"))


if __name__ == "__main__":
    unittest.main()
