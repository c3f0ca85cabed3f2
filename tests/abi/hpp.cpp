/* The C++ interface: graphs, functions, derivatives, code in process where there is LLVM, exports, errors. */
#include "scaly/scaly.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace sc = scaly;

static void check(bool holds, const char *what, int line) {
  if (holds) return;
  std::fprintf(stderr, "hpp.cpp:%d: %s\n", line, what);
  std::exit(1);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class F> static sc::error thrown(F f) {
  try {
    f();
  } catch (const sc::error &e) {
    return e;
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::exit(1);
}

static_assert(!std::is_copy_constructible_v<sc::context> && std::is_nothrow_move_constructible_v<sc::context>);
static_assert(std::is_copy_constructible_v<sc::kernel> && std::is_nothrow_move_constructible_v<sc::kernel>);
static_assert(std::is_trivially_copyable_v<sc::expr> && !std::is_copy_constructible_v<sc::program>);

static void test_graphs() {
  sc::context cx;
  sc::expr x = cx.input("x", {2, 3}), n = cx.input_nodiff("n", {2}, SC_INT32);
  CHECK(x.rank() == 2 && x.size() == 6 && x.shape() == sc::shape_t{2, 3} && x.dtype() == SC_FLOAT64 && x.diff() &&
        !n.diff());
  CHECK(x.name() == "x" && std::string(x.op()) == "input" && (x + 0.0).name().empty());
  CHECK(same(x * 2, 2 * x) && same(x + x, x + x) && !same(x, -x));
  CHECK(same(x(0, sc::span(1, 3)), x[0].span(1, 3)) && x(sc::all, -1).shape() == sc::shape_t{2} &&
        x(sc::from(1), sc::until(-1)).size() == 2);
  CHECK(x(sc::all, sc::span(0, 3, 2)).shape() == sc::shape_t{2, 2});
  CHECK(x.reshape({3, -1}).shape() == sc::shape_t{3, 2} && same(x.transpose(), x.transpose({1, 0})) &&
        x.vec().rank() == 1);
  CHECK(sum(x).rank() == 0 && sum(x, {0}).size() == 3 && max(x, {-1}).size() == 2 && min(x).rank() == 0);
  CHECK(sc::stack({x, x}).shape() == sc::shape_t{2, 2, 3} && sc::concat({x, x}, 1).shape() == sc::shape_t{2, 6});
  CHECK(sc::vertcat({x, x}).shape() == sc::shape_t{4, 3} && sc::horzcat({x, x}).shape() == sc::shape_t{2, 6} &&
        x.repmat(2, 2).size() == 24);
  CHECK((x < 0).dtype() == SC_BOOL && (~(x < 0) & (x > 1)).dtype() == SC_BOOL && select(x < 0, -x, x).size() == 6);
  CHECK(n.cast(SC_FLOAT32).dtype() == SC_FLOAT32 && (n % 2).dtype() == SC_INT32 && ((x < 0) | (x > 1)).size() == 6);
  sc::expr a = x;
  a += 1;
  a *= x;
  a -= x;
  a /= 2;
  CHECK(same(a, ((x + 1) * x - x) / 2) && a.arg_count() == 2 && same(a.arg(0), (x + 1) * x - x));
  sc::expr c = cx.constant({1, 2, 3});
  CHECK(static_cast<const double *>(c.const_data())[2] == 3 &&
        cx.constant<std::int32_t>({1, 2, 3, 4}, {2, 2}).dtype() == SC_INT32);
  CHECK(matmul(x, c).size() == 2 && dot(c, c).rank() == 0 && outer(c, c).size() == 9 && cross(c, c).size() == 3 &&
        kron(c, c).size() == 9);
  CHECK(x.gather({0, 5}, {2}).size() == 2 && c.scatter({1, 1, 0}, {2}).size() == 2 && clip(x, 0, 1).size() == 6);
  CHECK(cx.zeros({2}).size() == 2 && cx.ones({2}).size() == 2 && cx.eye(3).size() == 9 &&
        cx.linspace(0, 1, 5).size() == 5 && cx.full({2}, 7).size() == 2);
  CHECK(cx.scalar(1).rank() == 0 && cx.integer(3).dtype() == SC_INT64 &&
        cx.number(SC_FLOAT32, 1).dtype() == SC_FLOAT32);
  CHECK(sc::polyval({1, 2, 3}, x).size() == 6 && !sum(x, {0}).attributes().empty() && pow(x, 2).size() == 6 &&
        atan2(1, x).size() == 6);
  CHECK(!sc::expr());
}

static void test_functions() {
  sc::context cx;
  sc::expr x = cx.input("x", {3}), u = cx.input("u");
  sc::function f = cx.define("f", {{"x", x}, {"u", u}}, {{"y", sum(sin(x) + x * x) * u}, {"g", x * u}});
  CHECK(f.name() == "f" && f.input_count() == 2 && f.output_count() == 2 && f.input_name(1) == "u" &&
        f.output_name(0) == "y");
  CHECK(f.find_input("u") == 1 && f.find_output("g") == 1 && f.output(1).size() == 3 && !f.output_pattern(0) &&
        same(f.input(0), x));
  f.verify();
  f.set_strict_nan(true);
  CHECK(f.strict_nan() && f.hint() == SC_HINT_AUTO);

  sc::expr a = cx.input("a", {3});
  sc::function h = cx.define("h", {{"a", a}}, {{"z", f(a, cx.scalar(2)) + sum(f.call({a, cx.scalar(3)}, 1))}});
  CHECK(h.text().find("expr.call") != std::string::npos);
  sc::expr as = cx.input("as", {4, 3});
  CHECK(f.vmap(4, {as, cx.scalar(1)}).size() == 4 &&
        f.vmap_windows(2, {as.vec(), cx.constant({1})}, {0, 0}, {1, 0}).size() == 2);

  sc::function d = f.derive({"y", "grad:y:x", "spjac:g:x+u"}, "d");
  CHECK(d.name() == "d" && d.output_count() == 3 && d.output_pattern(2)->nnz == 6 && d.output_pattern(2)->ncol == 4);
  CHECK(f.gradient("y", "x").output(0).size() == 3 && f.jacobian("g", "x").output(0).size() == 9 &&
        f.hessian("y", "x").output(0).size() == 9);
  CHECK(d.matrices().size() == 1);
  sc::expr t = cx.input("t", {3}), dx = cx.input("dx", {3});
  sc::function rule = cx.define("rule", {{"x", t}, {"dx", dx}}, {{"dy", 7 * sum(dx) + 0 * sum(t)}});
  sc::expr in = cx.input("x", {3});
  sc::function own = cx.define("own", {{"x", in}}, {{"y", sum(in)}}).custom_derivative(rule, sc::function());
  CHECK(own.jvp() && !own.vjp() && own.gradient("y", "x").output(0).size() == 3);
  sc::sparsity s = f.jacobian_sparsity("g", "x"), hs = f.hessian_sparsity("y", "x");
  CHECK(s.pattern().nnz == 3 && hs.pattern().nnz == 3 && cx.color_jacobian(s.pattern())->column_colors == 1 &&
        cx.color_hessian(hs.pattern())->nnz == 3);

  sc::pattern p(s.pattern());
  CHECK(p.nnz() == 3 && p.outer.size() == 4);
  sc::function sparse = cx.define("sparse", {{"x", x}}, {{"m", x * 2, &p}});
  CHECK(sparse.output_pattern(0)->nrow == 3);
  std::size_t before = cx.node_count();
  d.release();
  cx.collect({&x});
  CHECK(!d && cx.node_count() < before && cx.memory() > 0 && x.size() == 3);
}

static void test_code() {
  sc::context cx;
  std::vector<sc::function> list =
      cx.parse("expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(add(sin(%x), mul(%x, %x))) }\n"
               "expr.func @g(%n: tensor<2xint32>) -> (%m) { return add(%n, %n) }");
  CHECK(list.size() == 2 && list[1].name() == "g");
  sc::function f = list[0];
  sc::program p = f.lower();
  p.verify();
  CHECK(p.statistics().math_calls == 3 && !p.reports().empty() && p.optimize().statistics().math_calls == 3);
  CHECK(cx.parse_program(p.text()).text() == p.text());

  sc::c_module m = f.gradient("y", "x").render_c({});
  CHECK(m.name() == "f_grad_y_x" && m.header_name() == "f_grad_y_x.h" &&
        m.source().find("int f_grad_y_x(") != std::string_view::npos);
  sc_c_options cpp{};
  cpp.lang = SC_LANG_CPP;
  CHECK(p.render_c(cpp).header().find("namespace f") != std::string_view::npos);
  sc::c_module moved = std::move(m);
  CHECK(moved && moved.header().size() > 100);
  CHECK(thrown([&] { moved.write("/nowhere/at/all"); }).status() == SC_ERR_IO);
  CHECK(sc::target("x86-64-v3").lanes == 4 && sc::target_names().size() > 10 &&
        thrown([] { sc::target("z80"); }).status() == SC_ERR_NAME);

#ifdef SCALY_TEST_LLVM
  sc_jit_options options{};
  options.plugin_dir = SCALY_TEST_PLUGIN_DIR;
  CHECK(!cx.llvm_version(SCALY_TEST_PLUGIN_DIR).empty());
  sc::kernel k = f.gradient("y", "x").jit(options), copy = k;
  std::vector<double> g = copy({{1, 2, 3}})[0];
  for (std::size_t i = 0; i < 3; i++)
    CHECK(std::fabs(g[i] - (std::cos(static_cast<double>(i + 1)) + 2 * static_cast<double>(i + 1))) < 1e-14);
  CHECK(k.input_count() == 1 && k.output(0).count == 3 && k.code_bytes() > 0 && k.entry());
  CHECK(copy.wait() == SC_OK && copy.tier() == SC_TIER_BEST);
  std::vector<sc::kernel> both = sc::jit(list, options);
  CHECK(both.size() == 2 && both[0]({{1, 2, 3}})[0][0] > 15);
  sc::set_jit_threads(1);
  CHECK(thrown([] { sc::set_jit_threads(99); }).status() != SC_OK);
  k = list[1].jit(options);
  CHECK(k(std::vector<std::vector<std::int32_t>>{{3, 4}})[0][1] == 8);
  CHECK(thrown([&] {
          k({{1, 2}});
        }).status() == SC_ERR_DTYPE &&
        thrown([&] {
          copy({{1, 2}});
        }).status() == SC_ERR_SHAPE);
  CHECK(thrown([&] { copy({{1, 2, 3}, {4}}); }).status() == SC_ERR_ARGUMENT);
  CHECK(f.render_llvm(SC_EMIT_OBJ, {}, SCALY_TEST_PLUGIN_DIR).source().substr(1, 3) == "ELF" &&
        p.render_llvm(SC_EMIT_ASM, {}, SCALY_TEST_PLUGIN_DIR).source_name() == "f.s");
  CHECK(p.emit_llvm(SC_EMIT_LLVM, options).find("define") != std::string::npos &&
        p.jit(options)({{1, 2, 3}})[0][0] > 15);
#endif
}

static void test_tools() {
  sc::context cx;
  std::vector<sc_vector_routine> routines = sc::vector_routines();
  CHECK(routines.size() > 20 && routines[0].name[0] && routines[0].max_ulp > 0);
  bool runs = false;
  for (const sc_vector_routine &r : routines) runs = runs || (r.installed && r.runs);
  CHECK(runs == !(sc::vector_library_version("glibc").empty() && sc::vector_library_version("sleef").empty()));
  CHECK(sc::vector_library_version("mkl").empty());
  CHECK(sc::to_string(SC_FLOAT32) == "float32" && sc::size_of(SC_INT64) == 8 && !sc::to_string(SC_ERR_SHAPE).empty());
  CHECK(sc::to_string(SC_ORDER_NATURAL) == "natural" && !sc::to_string(SC_COLORING_COLUMN).empty());
  const char *text = "expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(mul(%x, %x)) }\nexpr.func @g(%x: "
                     "tensor<float64>) -> (%y) { return neg(%x) }";
  CHECK(cx.parse_function(text).name() == "g" && cx.parse_function(text, "f").name() == "f");
  CHECK(thrown([&] { cx.parse_function(text, "h"); }).status() == SC_ERR_NAME);

  char folder[] = "/tmp/scaly-hpp-XXXXXX";
  CHECK(mkdtemp(folder) != nullptr);
  sc::cache cache(folder);
  CHECK(cache.dir() == folder && cache.available() == sc_cache_available());
#ifdef SCALY_TEST_LLVM
  if (sc::cache::available()) {
    sc_jit_options options{};
    options.plugin_dir = SCALY_TEST_PLUGIN_DIR;
    options.cache_dir = folder;
    options.tier = SC_TIER_BEST;
    sc::function f = cx.parse_function(text, "f");
    sc::kernel k = f.jit({"y", "grad:y:x"}, options);
    CHECK(k.output_count() == 2 && k({{1, 2, 3}})[1][2] == 6 && k.warning().empty());
    CHECK(cache.info(cx).entries == 1 && cache.verify(cx).damaged == 0 && cache.prune(cx, -1).removed == 0);
    CHECK(cache.prune(cx, 0).entries == 0);
    f.gradient("y", "x").jit(options);
    cache.clear(cx);
    CHECK(cache.info(cx).entries == 0);
    options.cache_dir = "/dev/null/nowhere";
    CHECK(!f.jit({"y"}, options).warning().empty());
  }
#endif
  std::remove(folder);
  CHECK(sc::cache(folder).info(cx).entries == 0);
}

static void test_errors() {
  sc::context cx;
  sc::expr x = cx.input("x", {3});
  CHECK(thrown([&] { (void)(x + cx.zeros({4})); }).status() == SC_ERR_SHAPE);
  CHECK(std::string(thrown([&] { (void)x[7]; }).what()).find('7') != std::string::npos);
  CHECK(thrown([&] { (void)(x + cx.zeros({3}, SC_FLOAT32)); }).status() == SC_ERR_DTYPE);
  CHECK(thrown([&] { (void)(sc::expr() + x); }).status() == SC_ERR_STALE);
  CHECK(thrown([&] { (void)sc::stack({}); }).status() == SC_ERR_STALE);
  CHECK(thrown([&] { cx.constant(std::vector<double>{1, 2}, {3}); }).status() == SC_ERR_SHAPE);
  CHECK(thrown([&] { cx.define("f", {}, {{"y", x}}); }).status() != SC_OK);
  sc::function f = cx.define("f", {{"x", x}}, {{"y", sum(x)}});
  CHECK(thrown([&] { f.find_input("z"); }).status() == SC_ERR_NAME &&
        thrown([&] { f.derive({"grad:q:x"}); }).status() == SC_ERR_NAME);
  sc::error e = thrown([&] {
    cx.parse("expr.func @a(%x: tensor<3xfloat64>) -> (%y) {\n  return sine(%x) }\nexpr.func @b() -> (%y) { return %q }",
             "two");
  });
  CHECK(e.status() == SC_ERR_NAME || e.status() == SC_ERR_PARSE);
  CHECK(e.line() == 2 && e.column() > 1 && e.file() == "two" && cx.diagnostics().size() == 2);
  CHECK(sc_context_error(cx.get()) == nullptr && sum(x * x).rank() == 0);
}

int main() {
  test_graphs();
  test_functions();
  test_code();
  test_tools();
  test_errors();
  return 0;
}
