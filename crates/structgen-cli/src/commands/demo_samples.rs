//! What the demonstration shows.

/// A text and a schema.
pub(crate) struct Sample {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
    pub(crate) schema: &'static str,
}

pub(crate) const SAMPLES: [Sample; 5] = [
    Sample {
        title: "Someone to call back",
        text: "My name is Ruben Keller and I live in Utrecht. Call me on 0606300391 or write to \
               ruben@keller.com.",
        schema: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "contact": {
                    "type": "object",
                    "properties": {
                        "phone": {"type": "string", "pattern": "^[0-9+ ]{6,15}$"},
                        "email": {"type": "string", "format": "email"}
                    },
                    "required": ["phone", "email"],
                    "additionalProperties": false
                },
                "city": {"type": "string"}
            },
            "required": ["name", "contact", "city"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A change of plans",
        text: "Flight QR 148 to Doha now leaves from gate C04 at 21:50.",
        schema: r#"{
            "type": "object",
            "properties": {
                "flight": {"type": "string", "pattern": "^[A-Z]{2} ?[0-9]{1,4}$"},
                "destination": {"type": "string"},
                "gate": {"type": "string", "pattern": "^[A-Z][0-9]{2}$"},
                "departure": {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"}
            },
            "required": ["flight", "destination", "gate", "departure"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "An invoice",
        text: "Invoice INV-2041, dated 2025-03-14. The total is 231.75 EUR.",
        schema: r#"{
            "type": "object",
            "properties": {
                "invoice": {"type": "string", "pattern": "^INV-[0-9]{4}$"},
                "date": {"type": "string", "format": "date"},
                "total": {"type": "number", "exclusiveMinimum": 0, "maximum": 10000, "multipleOf": 0.01},
                "currency": {"enum": ["EUR", "USD", "GBP"]}
            },
            "required": ["invoice", "date", "total", "currency"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A lost cat",
        text: "Lost since Sunday in Hamburg: Emil, a grey cat. He is not vaccinated yet. Call 555-2101.",
        schema: r#"{
            "type": "object",
            "properties": {
                "animal": {"enum": ["dog", "cat", "duck"]},
                "name": {"type": "string"},
                "city": {"type": "string"},
                "vaccinated": {"type": "boolean"},
                "phone": {"type": ["string", "null"]}
            },
            "required": ["animal", "name", "city", "vaccinated", "phone"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A list",
        text: "Customer: Dan Reyes. Tags: urgent, billing, refund.",
        schema: r#"{
            "type": "object",
            "properties": {
                "customer": {"type": "string"},
                "tags": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": 20},
                    "minItems": 1,
                    "maxItems": 3
                }
            },
            "required": ["customer", "tags"],
            "additionalProperties": false
        }"#,
    },
];
