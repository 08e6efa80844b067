//! What the demonstration shows.

/// A text and a schema.
pub(crate) struct Sample {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
    pub(crate) schema: &'static str,
}

pub(crate) const SAMPLES: [Sample; 5] = [
    Sample {
        title: "A support ticket",
        text: "Hello, my name is Mia Brandt and the export button in Ledger Pro has crashed 3 times since \
               yesterday. This is urgent for us. You can reach me at mia.brandt@example.org.",
        schema: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "email": {"type": "string"},
                "product": {"type": "string"},
                "priority": {"enum": ["low", "normal", "high", "urgent"]}
            },
            "required": ["name", "email", "product", "priority"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A line of a log",
        text: "2024-11-03 04:12:55 ERROR payment-worker-2: could not reach database db-main after 3 attempts, giving up",
        schema: r#"{
            "type": "object",
            "properties": {
                "timestamp": {"type": "string"},
                "level": {"enum": ["DEBUG", "INFO", "WARN", "ERROR"]},
                "service": {"type": "string"},
                "attempts": {"type": "integer", "minimum": 0, "maximum": 100}
            },
            "required": ["timestamp", "level", "service", "attempts"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A letter from a hotel",
        text: "Dear Ms. Okafor,\nwe are pleased to confirm your stay with us from 4 June to 9 June. Your double room \
               with a sea view is 132.50 per night, breakfast included.\nKind regards, Hotel Miramar",
        schema: r#"{
            "type": "object",
            "properties": {
                "guest": {"type": "string"},
                "hotel": {"type": "string"},
                "check_in": {"type": "string"},
                "check_out": {"type": "string"},
                "rate": {"type": "number", "exclusiveMinimum": 0},
                "breakfast": {"type": "boolean"}
            },
            "required": ["guest", "hotel", "check_in", "check_out", "rate", "breakfast"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A change of plans",
        text: "Flight QR 148 to Doha has been moved from gate B12 to gate C04. New departure time is 21:50. We \
               apologise for the inconvenience.",
        schema: r#"{
            "type": "object",
            "properties": {
                "flight": {"type": "string", "pattern": "^[A-Z]{2} ?[0-9]{1,4}$"},
                "destination": {"type": "string"},
                "new_gate": {"type": "string", "pattern": "^[A-Z][0-9]{2}$"},
                "departure": {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"}
            },
            "required": ["flight", "destination", "new_gate", "departure"],
            "additionalProperties": false
        }"#,
    },
    Sample {
        title: "A list of people",
        text: "Lena is bringing salad, Oskar takes care of drinks and I'll do the grill. We start at 6pm in our \
               garden, Birkenweg 12. Tell me if you're vegetarian!",
        schema: r#"{
            "type": "object",
            "properties": {
                "start": {"type": "string"},
                "address": {"type": "string"},
                "helpers": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 5},
                "phone": {"type": ["string", "null"]}
            },
            "required": ["start", "address", "helpers", "phone"],
            "additionalProperties": false
        }"#,
    },
];
