//! Reads the text form of the graph.
//!
//! The form is that of [`print`](super::print), with some freedom: white space and line ends separate tokens, comments
//! reach from `;` to the end of the line, a node's output may leave out its type, and a constant whose elements are all
//! the same is written `= splat VALUE`. Constants that the printer abbreviates cannot be read.

mod cursor;
mod tensor;

use std::collections::{BTreeMap, HashMap};

use super::{Attribute, Dim, ElementType, Model, Node, OperatorName, Region, Type, ValueId};
pub use cursor::ParseError;
use cursor::{Cursor, Parsed};

/// Reads a model.
///
/// # Errors
/// Where the text is no model; the message names the line.
pub fn parse(text: &str) -> Result<Model, ParseError> {
    let mut cursor = Cursor::new(text);
    cursor.expect("graph")?;
    let name = cursor.string()?;
    let mut parser = Parser { cursor, model: Model { name, ..Model::default() }, scopes: Vec::new(), uses: Vec::new() };
    parser.cursor.expect("{")?;
    parser.model.graph = parser.region()?;
    if !parser.cursor.at_end() {
        return parser.cursor.fail("the end of the text is expected");
    }
    Ok(parser.model)
}

/// Deeper nesting of regions is refused.
const MAX_DEPTH: usize = 64;

/// What is written of a node's output.
struct Output {
    name: String,
    ty: Type,
    known: Option<Vec<Dim>>,
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    model: Model,
    /// The values visible, by name; those of the innermost region last.
    scopes: Vec<HashMap<String, ValueId>>,
    /// Names that the open regions have used before a constant of that name was declared.
    uses: Vec<HashMap<String, ValueId>>,
}

impl Parser<'_> {
    /// After the opening brace.
    fn region(&mut self) -> Parsed<Region> {
        if self.scopes.len() >= MAX_DEPTH {
            return self.cursor.fail("the regions are nested too deeply");
        }
        self.scopes.push(HashMap::new());
        self.uses.push(HashMap::new());
        let mut region = Region::default();
        while !self.cursor.eat("}") {
            if self.cursor.eat("input") {
                let id = self.declaration()?;
                region.inputs.push(id);
            } else if self.cursor.eat("const") {
                self.constant()?;
            } else if self.cursor.eat("output") {
                let name = self.cursor.string()?;
                region.outputs.push(self.used(&name));
            } else {
                let node = self.node()?;
                region.nodes.push(node);
            }
        }
        self.scopes.pop();
        let pending = self.uses.pop().unwrap_or_default();
        match self.uses.last_mut() {
            Some(outer) => outer.extend(pending),
            None => {
                if let Some(name) = pending.keys().min() {
                    return self.cursor.fail(format!("`{name}` is not defined"));
                }
            }
        }
        Ok(region)
    }

    /// The value of a name that is used. A constant may be declared after its uses.
    fn used(&mut self, name: &str) -> ValueId {
        let scopes = self.scopes.iter().chain(&self.uses).rev();
        if let Some(id) = scopes.filter_map(|scope| scope.get(name)).next() {
            return *id;
        }
        let id = self.model.add_value(name, Type::Unknown);
        if let Some(uses) = self.uses.last_mut() {
            uses.insert(name.to_owned(), id);
        }
        id
    }

    fn define(&mut self, name: &str) -> Parsed<ValueId> {
        let id = match self.uses.last_mut().and_then(|uses| uses.remove(name)) {
            Some(id) => id,
            None => self.model.add_value(name, Type::Unknown),
        };
        match self.scopes.last_mut().and_then(|scope| scope.insert(name.to_owned(), id)) {
            Some(_) => self.cursor.fail(format!("`{name}` is defined twice")),
            None => Ok(id),
        }
    }

    fn constant(&mut self) -> Parsed<()> {
        let id = self.declaration()?;
        self.cursor.expect("=")?;
        let Some(ty) = self.model.value(id).ty.as_tensor() else {
            return self.cursor.fail("a constant is a tensor");
        };
        let dims: Option<Vec<i64>> = ty.shape.iter().flatten().map(Dim::as_const).collect();
        let (element, Some(dims)) = (ty.element, dims) else {
            return self.cursor.fail("a constant's shape is numbers");
        };
        let tensor = tensor::contents(&mut self.cursor, element, dims)?;
        self.model.set_constant(id, tensor);
        Ok(())
    }

    /// `"name": type == [elements]`, the type and elements optional.
    fn declaration(&mut self) -> Parsed<ValueId> {
        let name = self.cursor.string()?;
        let id = self.define(&name)?;
        if !self.cursor.eat(":") {
            return Ok(id);
        }
        let ty = self.ty()?;
        let known = if self.cursor.eat("==") { Some(self.dims()?) } else { None };
        let value = self.model.value_mut(id);
        value.ty = ty;
        value.known = known;
        Ok(id)
    }

    fn ty(&mut self) -> Parsed<Type> {
        if self.cursor.eat("?") {
            return Ok(Type::Unknown);
        }
        for (name, make) in [("sequence", Type::Sequence as fn(Box<Type>) -> Type), ("optional", Type::Optional)] {
            if self.cursor.eat(name) {
                self.cursor.expect("(")?;
                let inner = self.ty()?;
                self.cursor.expect(")")?;
                return Ok(make(Box::new(inner)));
            }
        }
        if self.cursor.eat("map") {
            self.cursor.expect("(")?;
            let key = self.element()?;
            self.cursor.expect(",")?;
            let value = self.ty()?;
            self.cursor.expect(")")?;
            return Ok(Type::Map(key, Box::new(value)));
        }
        let element = self.element()?;
        if self.cursor.eat("[..]") {
            return Ok(Type::Tensor(super::TensorType { element, shape: None }));
        }
        let shape = self.dims()?;
        Ok(Type::tensor(element, shape))
    }

    fn element(&mut self) -> Parsed<ElementType> {
        self.cursor.parsed("an element type", ElementType::from_name)
    }

    fn dims(&mut self) -> Parsed<Vec<Dim>> {
        let symbols = &mut self.model.symbols;
        self.cursor.list(|cursor| cursor.dim(symbols))
    }

    /// `"y": type, _ = domain::Operator-version("x", _) {attribute = 1} region { ... }`
    fn node(&mut self) -> Parsed<Node> {
        // The outputs are defined after the inputs and regions have been read.
        let mut outputs: Vec<Option<Output>> = Vec::new();
        loop {
            outputs.push(if self.cursor.eat("_") { None } else { Some(self.output()?) });
            if !self.cursor.eat(",") {
                break;
            }
        }
        self.cursor.expect("=")?;
        let mut name = self.cursor.word()?;
        let mut domain = String::new();
        if self.cursor.eat("::") {
            domain = std::mem::replace(&mut name, self.cursor.word()?);
        }
        self.cursor.expect("-")?;
        let version = self.cursor.parsed("a version", |word| word.parse().ok())?;
        self.cursor.expect("(")?;
        let mut inputs = Vec::new();
        while !self.cursor.eat(")") {
            if !inputs.is_empty() {
                self.cursor.expect(",")?;
            }
            inputs.push(if self.cursor.eat("_") {
                None
            } else {
                let name = self.cursor.string()?;
                Some(self.used(&name))
            });
        }
        let mut attributes = BTreeMap::new();
        if self.cursor.eat("{") {
            while !self.cursor.eat("}") {
                if !attributes.is_empty() {
                    self.cursor.expect(",")?;
                }
                let name = self.cursor.word()?;
                self.cursor.expect("=")?;
                let value = self.attribute()?;
                attributes.insert(name, value);
            }
        }
        self.regions(&mut attributes)?;
        let label = outputs.iter().flatten().next().map_or(name.clone(), |output| output.name.clone());
        let mut ids = Vec::new();
        for output in outputs {
            let Some(Output { name, ty, known }) = output else {
                ids.push(None);
                continue;
            };
            let id = self.define(&name)?;
            let value = self.model.value_mut(id);
            (value.ty, value.known) = (ty, known);
            ids.push(Some(id));
        }
        let operator = OperatorName { domain, name };
        Ok(Node { name: label, operator, version, inputs, outputs: ids, attributes })
    }

    fn output(&mut self) -> Parsed<Output> {
        let name = self.cursor.string()?;
        if !self.cursor.eat(":") {
            return Ok(Output { name, ty: Type::Unknown, known: None });
        }
        let ty = self.ty()?;
        let known = if self.cursor.eat("==") { Some(self.dims()?) } else { None };
        Ok(Output { name, ty, known })
    }

    /// `name { ... }`, any number of times.
    fn regions(&mut self, attributes: &mut BTreeMap<String, Attribute>) -> Parsed<()> {
        while let Some(name) = self.cursor.region_name() {
            let region = self.region()?;
            let attribute = match attributes.remove(&name) {
                None => Attribute::Region(region),
                Some(Attribute::Region(first)) => Attribute::Regions(vec![first, region]),
                Some(Attribute::Regions(mut regions)) => {
                    regions.push(region);
                    Attribute::Regions(regions)
                }
                Some(_) => return self.cursor.fail(format!("attribute `{name}` is given twice")),
            };
            attributes.insert(name, attribute);
        }
        Ok(())
    }

    fn attribute(&mut self) -> Parsed<Attribute> {
        if self.cursor.eat("type") {
            return Ok(if self.cursor.peek("[") {
                Attribute::Types(self.types()?)
            } else {
                Attribute::Type(self.ty()?)
            });
        }
        if self.cursor.eat("floats") {
            return Ok(Attribute::Floats(
                self.cursor.list(|cursor| cursor.parsed("a float", |word| word.parse().ok()))?,
            ));
        }
        if self.cursor.eat("strings") {
            return Ok(Attribute::Strings(self.cursor.list(|cursor| cursor.bytes())?));
        }
        if self.cursor.eat("tensors") {
            let tensors = self.cursor.list(tensor::tensor)?;
            return Ok(Attribute::Tensors(tensors));
        }
        if self.cursor.peek("[") {
            return Ok(Attribute::Ints(
                self.cursor.list(|cursor| cursor.parsed("a number", |word| word.parse().ok()))?,
            ));
        }
        if self.cursor.peek("\"") {
            return Ok(Attribute::String(self.cursor.bytes()?));
        }
        if self.cursor.starts_tensor() {
            return Ok(Attribute::Tensor(tensor::tensor(&mut self.cursor)?));
        }
        self.cursor.parsed("an attribute", |word| match word.parse() {
            Ok(value) => Some(Attribute::Int(value)),
            Err(_) => word.parse().ok().map(Attribute::Float),
        })
    }

    fn types(&mut self) -> Parsed<Vec<Type>> {
        self.cursor.expect("[")?;
        let mut types = Vec::new();
        while !self.cursor.eat("]") {
            if !types.is_empty() {
                self.cursor.expect(",")?;
            }
            types.push(self.ty()?);
        }
        Ok(types)
    }
}
