//! Random expressions keep their values through every transformation, and typical shape arithmetic simplifies.

use super::*;
use proptest::prelude::*;

/// An expression as written, evaluated without the algebra.
#[derive(Clone, Debug)]
enum Tree {
    Constant(i64),
    Symbol(usize),
    Add(Box<Tree>, Box<Tree>),
    Subtract(Box<Tree>, Box<Tree>),
    Multiply(Box<Tree>, Box<Tree>),
    CeilDiv(Box<Tree>, Box<Tree>),
    Binary(BinaryOperator, Box<Tree>, Box<Tree>),
    Compare(CompareOperator, Box<Tree>, Box<Tree>),
    Select(Box<Tree>, Box<Tree>, Box<Tree>),
}

/// Two symbols of each kind: from 0, from 1, of any sign.
fn table() -> (Symbols, [SymbolId; 6]) {
    let mut symbols = Symbols::new();
    let ids = [
        symbols.named("batch"),
        symbols.named("x.1 `odd`"),
        symbols.fresh_within("channels", 1, None),
        symbols.fresh_within("max", 1, None),
        symbols.fresh_within("offset", i64::MIN, None),
        symbols.fresh_within("start", -5, None),
    ];
    (symbols, ids)
}

fn values() -> impl Strategy<Value = [i64; 6]> {
    [0..9i64, 0..9, 1..9, 1..9, -9..9, -5..9]
}

fn tree() -> impl Strategy<Value = Tree> {
    tree_of((-9..10i64).boxed())
}

/// Numbers around the ends of `i64`, and small ones.
fn extremes() -> BoxedStrategy<i64> {
    let ends = [i64::MIN, i64::MIN + 1, i64::MIN / 2, -2, -1, 0, 1, 2, i64::MAX / 2 + 1, i64::MAX - 1, i64::MAX];
    prop::sample::select(ends.to_vec()).boxed()
}

fn tree_of(constants: BoxedStrategy<i64>) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![constants.prop_map(Tree::Constant), (0..6usize).prop_map(Tree::Symbol)];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let boxed = inner.prop_map(Box::new).boxed();
        let pair = (boxed.clone(), boxed.clone());
        let binary = prop::sample::select(vec![
            BinaryOperator::FloorDiv,
            BinaryOperator::Modulo,
            BinaryOperator::TruncDiv,
            BinaryOperator::TruncRem,
            BinaryOperator::Max,
            BinaryOperator::Min,
        ]);
        let compare = prop::sample::select(vec![
            CompareOperator::Equal,
            CompareOperator::NotEqual,
            CompareOperator::Less,
            CompareOperator::LessEqual,
            CompareOperator::Greater,
            CompareOperator::GreaterEqual,
        ]);
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| Tree::Add(a, b)),
            2 => pair.clone().prop_map(|(a, b)| Tree::Subtract(a, b)),
            2 => pair.clone().prop_map(|(a, b)| Tree::Multiply(a, b)),
            1 => pair.clone().prop_map(|(a, b)| Tree::CeilDiv(a, b)),
            5 => (binary, pair.clone()).prop_map(|(operator, (a, b))| Tree::Binary(operator, a, b)),
            2 => (compare.clone(), pair.clone()).prop_map(|(operator, (a, b))| Tree::Compare(operator, a, b)),
            1 => (compare, pair.clone(), pair).prop_map(|(operator, (a, b), (c, d))| {
                Tree::Select(Box::new(Tree::Compare(operator, a, b)), c, d)
            }),
        ]
    })
}

impl Tree {
    fn dim(&self, symbols: &[Dim]) -> Dim {
        match self {
            Tree::Constant(value) => Dim::Const(*value),
            Tree::Symbol(index) => symbols[*index].clone(),
            Tree::Add(a, b) => a.dim(symbols) + b.dim(symbols),
            Tree::Subtract(a, b) => a.dim(symbols) - b.dim(symbols),
            Tree::Multiply(a, b) => a.dim(symbols) * b.dim(symbols),
            Tree::CeilDiv(a, b) => a.dim(symbols).ceil_div(&b.dim(symbols)),
            Tree::Binary(operator, a, b) => Dim::binary(*operator, &a.dim(symbols), &b.dim(symbols)),
            Tree::Compare(operator, a, b) => a.dim(symbols).compare(*operator, &b.dim(symbols)),
            Tree::Select(condition, a, b) => Dim::select(&condition.dim(symbols), &a.dim(symbols), &b.dim(symbols)),
        }
    }

    fn value(&self, values: &[i64]) -> Option<i64> {
        Some(match self {
            Tree::Constant(value) => *value,
            Tree::Symbol(index) => values[*index],
            Tree::Add(a, b) => a.value(values)?.checked_add(b.value(values)?)?,
            Tree::Subtract(a, b) => a.value(values)?.checked_sub(b.value(values)?)?,
            Tree::Multiply(a, b) => a.value(values)?.checked_mul(b.value(values)?)?,
            Tree::CeilDiv(a, b) => -BinaryOperator::FloorDiv.apply(-a.value(values)?, b.value(values)?),
            Tree::Binary(operator, a, b) => operator.apply(a.value(values)?, b.value(values)?),
            Tree::Compare(operator, a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                i64::from(match operator {
                    CompareOperator::Equal => a == b,
                    CompareOperator::NotEqual => a != b,
                    CompareOperator::Less => a < b,
                    CompareOperator::LessEqual => a <= b,
                    CompareOperator::Greater => a > b,
                    CompareOperator::GreaterEqual => a >= b,
                })
            }
            Tree::Select(condition, a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                if condition.value(values)? == 1 { a } else { b }
            }
        })
    }
}

fn evaluate(dim: &Dim, ids: &[SymbolId], values: &[i64]) -> Result<i64, EvaluateError> {
    dim.evaluate(&|id| ids.iter().position(|other| *other == id).map(|index| values[index]))
}

/// Computes as generated code does, with wrapping sums and products.
struct WrappingMachine<'a>(&'a [SymbolId], &'a [i64]);

impl DimEmitter for WrappingMachine<'_> {
    type Value = i64;
    type Error = EvaluateError;
    fn constant(&mut self, value: i64) -> Result<i64, EvaluateError> {
        Ok(value)
    }
    fn symbol(&mut self, id: SymbolId) -> Result<i64, EvaluateError> {
        Ok(self.1[self.0.iter().position(|other| *other == id).unwrap()])
    }
    fn add(&mut self, a: i64, b: i64) -> Result<i64, EvaluateError> {
        Ok(a.wrapping_add(b))
    }
    fn multiply(&mut self, a: i64, b: i64) -> Result<i64, EvaluateError> {
        Ok(a.wrapping_mul(b))
    }
    fn binary(&mut self, operator: BinaryOperator, a: i64, b: i64) -> Result<i64, EvaluateError> {
        Ok(operator.apply(a, b))
    }
    fn unknown(&mut self) -> Result<i64, EvaluateError> {
        Err(EvaluateError::Unknown)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn values_survive_every_transformation(tree in tree(), values in values()) {
        let (mut symbols, ids) = table();
        let dim = tree.dim(&ids.map(Dim::symbol));
        let Some(expected) = tree.value(&values) else { return Ok(()) };
        prop_assume!(!dim.is_unknown());
        prop_assert_eq!(evaluate(&dim, &ids, &values), Ok(expected), "{}", dim.display(&symbols));
        prop_assert_eq!(dim.emit(&mut WrappingMachine(&ids, &values)), Ok(expected));

        prop_assert!(dim.lower_bound().is_none_or(|bound| bound <= expected), "{}", dim);
        prop_assert!(dim.upper_bound().is_none_or(|bound| bound >= expected), "{}", dim);
        prop_assert!(dim.lower_bound_within(&symbols).is_none_or(|bound| bound <= expected), "{}", dim);
        prop_assert!(dim.upper_bound_within(&symbols).is_none_or(|bound| bound >= expected), "{}", dim);

        let numbers = dim.substitute(&|id| ids.iter().position(|other| *other == id).map(|index| Dim::Const(values[index])));
        prop_assert_eq!(numbers.as_const(), Some(expected), "{}", dim.display(&symbols));
        prop_assert_eq!(&dim.substitute(&|_| None), &dim);

        let text = dim.display(&symbols).to_string();
        let parsed = Dim::parse(&text, &mut symbols).unwrap();
        prop_assert_eq!(&parsed, &dim, "{}", text);
    }

    #[test]
    fn partial_substitution_keeps_the_value(tree in tree(), inner in tree(), values in values(), replaced in 4..5usize) {
        let (_, ids) = table();
        let atoms = ids.map(Dim::symbol);
        let Some(inner_value) = inner.value(&values) else { return Ok(()) };
        let mut outer_values = values;
        outer_values[replaced] = inner_value;
        let Some(expected) = tree.value(&outer_values) else { return Ok(()) };
        let inner = inner.dim(&atoms);
        let dim = tree.dim(&atoms).substitute(&|id| (id == ids[replaced]).then(|| inner.clone()));
        prop_assume!(!dim.is_unknown());
        prop_assert_eq!(evaluate(&dim, &ids, &values), Ok(expected), "{}", dim);
    }

    #[test]
    fn extreme_constants_do_not_panic(tree in tree_of(extremes()), replacement in extremes()) {
        let (mut symbols, ids) = table();
        let dim = tree.dim(&ids.map(Dim::symbol));
        let _ = dim.evaluate(&|id| Some(replacement.max(id.minimum())));
        let _ = dim.substitute(&|id| Some(Dim::Const(replacement.max(id.minimum()))));
        let _ = (dim.lower_bound_within(&symbols), dim.upper_bound_within(&symbols));
        let text = dim.display(&symbols).to_string();
        prop_assert!(Dim::parse(&text, &mut symbols).is_ok(), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[-a-c0-9+*/%(),<>=`?. ]{0,40}|(floor|max|rem|group)\\([a-c0-9/, ]{0,8}\\)?") {
        let mut symbols = Symbols::new();
        if let Ok(dim) = Dim::parse(&text, &mut symbols) {
            let printed = dim.display(&symbols).to_string();
            prop_assert_eq!(Dim::parse(&printed, &mut symbols), Ok(dim));
        }
    }
}

/// Each text prints as the second.
#[test]
fn typical_expressions_simplify() {
    let (mut symbols, _) = table();
    for (text, expected) in [
        ("batch*2*height + width//2 - 1", "2*batch*height + floor(width/2) - 1"),
        ("(height - 1)//2 + 1", "floor((height + 1)/2)"),
        ("ceil(height/2) - (height + 1)//2", "0"),
        ("((height//2)//2)", "floor(height/4)"),
        ("((height + 1)//2 + 1)//2", "floor((height + 3)/4)"),
        ("(4*height + 8)//4", "height + 2"),
        ("(4*height + 2)//8", "floor(height/2)"),
        ("(6*height + 9) % 3", "0"),
        ("(2*height + 1) % 4", "2*(height % 2) + 1"),
        ("(height % 8) % 4", "(height % 4)"),
        ("(height % 8)//8", "0"),
        ("max(height, height + 1)", "height + 1"),
        ("max(1, max(height, 1))", "max(height, 1)"),
        ("max(channels, 1)", "channels"),
        ("min(9223372036854775807, height)", "height"),
        ("min(height - 3, height)", "height - 3"),
        ("channels*height//channels", "height"),
        ("batch*height//batch", "floor(batch*height/batch)"),
        ("(height == height)", "1"),
        ("(height < 0)", "0"),
        ("(height == -1)", "0"),
        ("(height + 1 > height)", "1"),
        ("((height == 3) == 0)", "-(height == 3) + 1"),
        ("(2*height == 3)", "0"),
        ("(2*height < 4*width + 3)", "(height < 2*width + 2)"),
        ("(offset < 0)*(offset < 0)", "(offset < 0)"),
        ("trunc(height/2) - height//2", "0"),
        ("offset - 3*trunc(offset/3)", "offset - 3*trunc(offset/3)"),
        ("rem(-height, 4)", "-(height % 4)"),
        ("-5//2", "-3"),
        ("height//0 + 5 % 0", "0"),
    ] {
        let dim = Dim::parse(text, &mut symbols).unwrap();
        assert_eq!(dim.display(&symbols).to_string(), expected, "{text}");
    }
}

#[test]
fn constants_saturate() {
    let huge = Dim::Const(i64::MAX);
    assert_eq!(&huge + 1, huge);
    assert_eq!(&huge * -4, Dim::Const(i64::MIN));
    assert_eq!(-Dim::Const(i64::MIN), huge);
    assert_eq!(Dim::Const(i64::MIN).floor_div(&Dim::Const(-1)), huge);
    let symbol = Dim::symbol(SymbolId(0));
    for divisor in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX] {
        let divisor = Dim::Const(divisor);
        let results = [
            symbol.floor_div(&divisor),
            symbol.ceil_div(&divisor),
            symbol.modulo(&divisor),
            symbol.trunc_div(&divisor),
            symbol.trunc_rem(&divisor),
        ];
        assert!(results.iter().all(|dim| dim.evaluate(&|_| Some(0)) == Ok(0)));
    }
}

#[test]
fn growth_is_bounded() {
    let (_, ids) = table();
    let [x, y, z, ..] = ids.map(Dim::symbol);
    let mut doubling = x.clone();
    for step in 2..200 {
        doubling = doubling.modulo(&(&y + step)).max(&doubling.floor_div(&(&z + step)));
    }
    assert!(doubling.is_unknown());
    assert!(!doubling.known_equal(&doubling));
    assert_eq!(doubling.evaluate(&|_| Some(1)), Err(EvaluateError::Unknown));

    let sum = Dim::sum((0..40).map(|index| Dim::symbol(SymbolId(index))));
    let product = &sum * &sum * 3;
    assert_eq!(product.evaluate(&|_| Some(1)), Ok(4800));
    assert_eq!(&product - &sum * (3 * &sum), Dim::ZERO);
    let text = "(".repeat(100_000);
    assert!(Dim::parse(&text, &mut Symbols::new()).is_err());
}

#[test]
fn exact_division_finds_factors() {
    let (_, ids) = table();
    let [x, y, z, ..] = ids.map(Dim::symbol);
    let sum = &x + &y + 3;
    assert_eq!((&sum * &z * 4).divide_exact(&(&sum * 2)), Some(2 * &z));
    assert_eq!((&sum * (&z - 1)).divide_exact(&sum), Some(&z - 1));
    assert_eq!((&sum * &z + 1).divide_exact(&sum), None);
    assert_eq!(x.divide_exact(&Dim::ZERO), None);
}

#[test]
fn a_maximum_absorbs_a_minimum_that_it_is_part_of() {
    let mut symbols = Symbols::new();
    let [a, b] = ["a", "b"].map(|name| Dim::symbol(symbols.named(name)));
    assert_eq!(a.max(&a.min(&b)), a);
    assert_eq!(a.min(&b).max(&(&a + 1)), &a + 1);
    assert_eq!(a.max(&b).min(&b), b);
    assert_ne!(a.max(&b), a);
}
