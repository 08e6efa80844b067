//! The grammars of small schemas, as snapshots; `UPDATE_EXPECT=1 cargo test` updates them.

use expect_test::{Expect, expect};

use super::print::print;
use crate::json_schema::{Profile, SchemaOptions, compile_str};

fn check(profile: Profile, schema: &str, expect: Expect) {
    let options = SchemaOptions::new().with_profile(profile);
    let compiled = compile_str(schema, &options).expect("the schema compiles");
    expect.assert_eq(&print(&compiled.grammar));
}

#[test]
fn a_type_is_a_choice_of_shapes() {
    check(
        Profile::Exact,
        r##"{"type": ["string", "null", "integer", "boolean"]}"##,
        expect![[r#"
            # = string | number<% 1> | true | false | null
            text = Sequence([ExprId(8), ExprId(1), ExprId(8)])
        "#]],
    );
}

#[test]
fn the_empty_schema_is_any_json() {
    check(
        Profile::Exact,
        r##"{}"##,
        expect![[r#"
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
            text = Sequence([ExprId(10), ExprId(1), ExprId(10)])
        "#]],
    );
}

#[test]
fn equal_values_of_an_enum_are_one() {
    check(
        Profile::Exact,
        r##"{"enum": ["b", "a", 1, 1.0, true, null, "a"]}"##,
        expect![[r##"
            # = "a" | "b" | number<>= 1, <= 1> | true | null
            text = Sequence([ExprId(7), ExprId(1), ExprId(7)])
        "##]],
    );
}

#[test]
fn listed_integers_are_written_whole_in_generate() {
    check(
        Profile::Generate,
        r#"{"enum": [1, 2.50, -3e2]}"#,
        expect![[r#"
            # = number<>= -300, <= -300, whole> | number<>= 1, <= 1, whole> | number<>= 2.5, <= 2.5>
        "#]],
    );
}

#[test]
fn objects_and_arrays_may_be_constants() {
    check(
        Profile::Exact,
        r##"{"enum": [{"a": [1, {"b": null}]}, []]}"##,
        expect![[r##"
            # = {"a": value-0} | []{0,0}
            value-0 = [value-1, value-2]{2,2}
            value-1 = number<>= 1, <= 1>
            value-2 = {"b": value-3}
            value-3 = null
            text = Sequence([ExprId(13), ExprId(1), ExprId(13)])
        "##]],
    );
}

#[test]
fn an_enum_is_filtered_by_its_siblings() {
    check(
        Profile::Exact,
        r##"{"enum": [1, 2, 3, "x", "xyz", {"a": 1}, {"a": "s"}, [1, 1], [1, 2]], "minimum": 2, "maxLength": 2, "properties": {"a": {"type": "string"}}, "uniqueItems": true}"##,
        expect![[r##"
            # = {"a": value-0} | [value-1, value-2]{2,2} | "x" | number<>= 2, <= 2> | number<>= 3, <= 3>
            value-0 = "s"
            value-1 = number<>= 1, <= 1>
            value-2 = number<>= 2, <= 2>
            text = Sequence([ExprId(13), ExprId(1), ExprId(13)])
        "##]],
    );
}

#[test]
fn bounds_merge_and_are_drawn_in_for_integers() {
    check(
        Profile::Exact,
        r##"{"type": "integer", "minimum": 0.5, "exclusiveMaximum": 10, "allOf": [{"maximum": 12}, {"multipleOf": 3}]}"##,
        expect![[r#"
            # = number<>= 1, <= 9, % 3>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "#]],
    );
}

#[test]
fn numbers_stay_exact() {
    check(
        Profile::Exact,
        r##"{"minimum": 0.1, "maximum": 123456789012345678901234567890.5, "type": "number"}"##,
        expect![[r#"
            # = number<>= 0.1, <= 123456789012345678901234567890.5>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "#]],
    );
}

#[test]
fn numbers_without_some_are_ranges() {
    check(
        Profile::Exact,
        r##"{"type": "integer", "minimum": 0, "not": {"enum": [3, 5, "x"]}}"##,
        expect![[r#"
            # = number<>= 0, <= 2, % 1> | number<>= 4, <= 4, % 1> | number<>= 6, % 1>
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "#]],
    );
}

#[test]
fn lengths_and_patterns_meet() {
    check(
        Profile::Exact,
        r##"{"type": "string", "pattern": "^a+$", "minLength": 2, "allOf": [{"maxLength": 5, "pattern": "^(a|b)*$"}]}"##,
        expect![[r##"
            # = string<(("a"){1,} & (("a" | "b"))*)>{2,5}
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "##]],
    );
}

#[test]
fn a_pattern_of_few_texts_is_a_list() {
    check(
        Profile::Exact,
        r##"{"type": "string", "pattern": "^(on|off)$"}"##,
        expect![[r##"
            # = "off" | "on"
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "##]],
    );
}

#[test]
fn a_date_is_a_set_of_strings() {
    check(
        Profile::Exact,
        r##"{"type": "string", "format": "uuid"}"##,
        expect![[r##"
            # = string<([0-9A-Fa-f]){8,8} "-" ([0-9A-Fa-f]){4,4} "-" ([0-9A-Fa-f]){4,4} "-" ([0-9A-Fa-f]){4,4} "-" ([0-9A-Fa-f]){12,12}>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "##]],
    );
}

#[test]
fn strings_without_some_are_complements() {
    check(
        Profile::Exact,
        r##"{"type": "string", "not": {"const": "x"}}"##,
        expect![[r##"
            # = string<!("x")>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "##]],
    );
}

#[test]
fn open_objects_stay_open_in_exact() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "z"]}"##,
        expect![[r##"
            # = {"a": #/properties/a, "z": json-value, ..: json-value}
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
            #/properties/a = string
            text = Sequence([ExprId(13), ExprId(1), ExprId(13)])
        "##]],
    );
}

#[test]
fn open_objects_are_closed_in_generate() {
    check(
        Profile::Generate,
        r##"{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "z"]}"##,
        expect![[r##"
            # = {"a": #/properties/a, "z": json-value}
            #/properties/a = string
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
        "##]],
    );
}

#[test]
fn free_form_objects_stay_open_in_generate() {
    check(
        Profile::Generate,
        r##"{"type": "object"}"##,
        expect![[r#"
        # = {..: json-value}
        json-value = {..: json-value} | [..json-value] | string | number | true | false | null
    "#]],
    );
}

#[test]
fn keys_come_in_the_order_of_the_schema() {
    check(
        Profile::Generate,
        r##"{"type": "object", "$ref": "#/$defs/base", "required": ["y"], "properties": {"b": true, "a": true}, "allOf": [{"properties": {"c": true}}], "$defs": {"base": {"properties": {"z": true}, "required": ["x"]}}}"##,
        expect![[r##"
            # = {"b"?: json-value, "a"?: json-value, "y": json-value, "z"?: json-value, "x": json-value, "c"?: json-value}
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
        "##]],
    );
}

#[test]
fn properties_meet_additional_properties() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"a": {"minimum": 1}}, "additionalProperties": {"type": "integer"}, "allOf": [{"properties": {"b": {"maximum": 9}}, "additionalProperties": {"type": "number"}}]}"##,
        expect![[r##"
            # = {"a"?: #/properties/a & #/allOf/0/additionalProperties, "b"?: #/additionalProperties & #/allOf/0/properties/b, ..: #/additionalProperties & #/allOf/0/additionalProperties}
            #/additionalProperties & #/allOf/0/additionalProperties = number<% 1>
            #/properties/a & #/allOf/0/additionalProperties = number<>= 1>
            #/additionalProperties & #/allOf/0/properties/b = number<<= 9, % 1>
            text = Sequence([ExprId(9), ExprId(1), ExprId(9)])
        "##]],
    );
}

#[test]
fn forbidden_keys_have_no_value() {
    check(
        Profile::Exact,
        r##"{"type": "object", "not": {"required": ["a"]}}"##,
        expect![[r##"
            # = {"a"?: never, ..: json-value}
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
            text = Sequence([ExprId(12), ExprId(1), ExprId(12)])
        "##]],
    );
}

#[test]
fn patterns_say_more_about_listed_keys() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"ab": {"minimum": 1}, "b": true}, "patternProperties": {"^a": {"type": "integer"}}, "propertyNames": {"enum": ["ab", "b", "ac"]}}"##,
        expect![[r##"
            # = {"ab"?: #/properties/ab & #/patternProperties/^a, "b"?: json-value, "ac"?: #/patternProperties/^a}
            #/properties/ab & #/patternProperties/^a = number<>= 1, % 1>
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
            #/patternProperties/^a = number<% 1>
            text = Sequence([ExprId(16), ExprId(1), ExprId(16)])
        "##]],
    );
}

#[test]
fn keys_are_counted() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": false, "minProperties": 1}"##,
        expect![[r##"
            # = {"a"?: #/properties/a, "b"?: #/properties/b}{1,}
            #/properties/a = null
            #/properties/b = null
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "##]],
    );
}

#[test]
fn dependencies_become_clauses() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": false, "dependentRequired": {"a": ["b"]}}"##,
        expect![[r##"
            # = {"a"?: #/properties/a or none #0, "b"?: #0 #/properties/b} #0{1,}
            #/properties/a = null
            #/properties/b = null
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "##]],
    );
}

#[test]
fn tuples_have_a_prefix_and_a_rest() {
    check(
        Profile::Exact,
        r##"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": {"type": "integer"}, "minItems": 1, "maxItems": 4}"##,
        expect![[r#"
            # = [#/prefixItems/0, #/prefixItems/1, ..#/items]{1,4}
            #/prefixItems/0 = string
            #/prefixItems/1 = null
            #/items = number<% 1>
            text = Sequence([ExprId(9), ExprId(1), ExprId(9)])
        "#]],
    );
}

#[test]
fn items_meet_prefix_items() {
    check(
        Profile::Exact,
        r##"{"type": "array", "prefixItems": [{"type": "number"}], "allOf": [{"items": {"type": "integer"}}, {"maxItems": 3}]}"##,
        expect![[r#"
            # = [#/prefixItems/0 & #/allOf/0/items, ..#/allOf/0/items]{0,3}
            #/prefixItems/0 & #/allOf/0/items = number<% 1>
            #/allOf/0/items = number<% 1>
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "#]],
    );
}

#[test]
fn an_item_that_cannot_be_ends_the_array() {
    check(
        Profile::Exact,
        r##"{"type": "array", "prefixItems": [{"type": "string"}, false], "items": {"type": "null"}}"##,
        expect![[r#"
            # = [#/prefixItems/0]{0,1}
            #/prefixItems/0 = string
            text = Sequence([ExprId(5), ExprId(1), ExprId(5)])
        "#]],
    );
}

#[test]
fn any_of_is_a_union() {
    check(
        Profile::Exact,
        r##"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}, {"const": "long enough"}]}"##,
        expect![[r##"
            # = "long enough" | string{0,3} | number<% 1>
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "##]],
    );
}

#[test]
fn one_of_disjoint_arms_is_a_union() {
    check(
        Profile::Generate,
        r##"{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "null"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}]}"##,
        expect![[r##"
            # = {"k": #/oneOf/0/properties/k, "x"?: #/oneOf/0/properties/x} | {"k": #/oneOf/1/properties/k}
            #/oneOf/0/properties/k = "a"
            #/oneOf/0/properties/x = null
            #/oneOf/1/properties/k = "b"
        "##]],
    );
}

#[test]
fn objects_that_a_required_key_tells_apart_are_not_counted() {
    // Other values than objects are valid under both arms, so that each arm excludes the other.
    check(
        Profile::Generate,
        r##"{"oneOf": [{"properties": {"k": {"enum": ["a"]}, "x": {"type": "null"}}, "required": ["k"]}, {"properties": {"k": {"enum": ["b"]}, "x": {"type": "array"}}, "required": ["k"]}]}"##,
        expect![[r##"
            # = {"k": #/oneOf/0/properties/k, "x"?: #/oneOf/0/properties/x} | {"k": #/oneOf/1/properties/k, "x"?: #/oneOf/1/properties/x}
            #/oneOf/0/properties/k = "a"
            #/oneOf/0/properties/x = null
            #/oneOf/1/properties/k = "b"
            #/oneOf/1/properties/x = [..json-value]
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
        "##]],
    );
    // The absence of the key meets the obligation as well as any value that it may have.
    check(
        Profile::Generate,
        r##"{"type": "object", "properties": {"k": {"const": 1}, "x": {"type": "integer"}}, "not": {"properties": {"k": {"const": 2}, "x": {"minimum": 3}}, "required": ["k"]}}"##,
        expect![[r##"
            # = {"k"?: #/properties/k, "x"?: #/properties/x}
            #/properties/k = number<>= 1, <= 1, whole>
            #/properties/x = number<% 1, whole>
        "##]],
    );
}

#[test]
fn two_equal_items_are_one_of_the_listed_values_twice() {
    check(
        Profile::Generate,
        r##"{"type": "array", "items": {"enum": [1, "a"]}, "minItems": 1, "not": {"uniqueItems": true}}"##,
        expect![[r##"
            # = [..#0 #/items & value-3 | #/items]{2,} #0{2,} | [..#0 #/items & value-4 | #/items]{2,} #0{2,}
            #/items & value-3 = number<>= 1, <= 1, whole>
            #/items = "a" | number<>= 1, <= 1, whole>
            #/items & value-4 = "a"
        "##]],
    );
}

#[test]
fn distinct_items_have_no_equal_pair() {
    check(
        Profile::Generate,
        r##"{"oneOf": [{"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": true}, {"type": "array", "items": {"type": ["integer", "null"]}, "uniqueItems": true}]}"##,
        expect![[r#"
            # = [..#0 #/oneOf/0/items & !#/oneOf/1/items | #/oneOf/0/items & #/oneOf/1/items]{1,} #0{1,} unique | [..#0 #/oneOf/1/items & !#/oneOf/0/items | #/oneOf/1/items & #/oneOf/0/items]{1,} #0{1,} unique
            #/oneOf/0/items & !#/oneOf/1/items = string
            #/oneOf/0/items & #/oneOf/1/items = null
            #/oneOf/1/items & !#/oneOf/0/items = number<% 1, whole>
            #/oneOf/1/items & #/oneOf/0/items = null
        "#]],
    );
    check(
        Profile::Generate,
        r##"{"enum": [[1, 1.0], [1, 2], [], "a"], "not": {"uniqueItems": true}}"##,
        expect![[r#"
            # = [value-0, value-1]{2,2}
            value-0 = number<>= 1, <= 1, whole>
            value-1 = number<>= 1, <= 1, whole>
        "#]],
    );
}

#[test]
fn one_of_overlapping_arms_excludes_both() {
    check(
        Profile::Exact,
        r##"{"type": "integer", "oneOf": [{"minimum": 0}, {"maximum": 10}]}"##,
        expect![[r#"
            # = number<>= 11, % 1> | number<<= -1, % 1>
            text = Sequence([ExprId(5), ExprId(1), ExprId(5)])
        "#]],
    );
}

#[test]
fn not_is_the_complement() {
    check(
        Profile::Exact,
        r##"{"not": {"type": ["object", "array", "string", "null"], "minimum": 3}}"##,
        expect![[r#"
            !#/not = number | true | false
            text = Sequence([ExprId(6), ExprId(1), ExprId(6)])
        "#]],
    );
}

#[test]
fn a_conditional_is_two_branches() {
    check(
        Profile::Generate,
        r##"{"type": "object", "properties": {"k": {"enum": ["a", "b"]}}, "required": ["k"], "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}"##,
        expect![[r##"
            # = {"k": #/properties/k & #/if/properties/k, "x": json-value} | {"k": #/properties/k & !#/if/properties/k, "y": json-value}
            #/properties/k & #/if/properties/k = "a"
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
            #/properties/k & !#/if/properties/k = "b"
        "##]],
    );
}

#[test]
fn references_share_rules_and_recur() {
    check(
        Profile::Generate,
        r##"{"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"$ref": "#/$defs/v"}}, "$defs": {"v": {"type": "null"}}}"##,
        expect![[r##"
            # = {"left"?: #, "right"?: #, "value"?: #/$defs/v}
            #/$defs/v = null
        "##]],
    );
}

#[test]
fn a_reference_with_siblings_is_a_conjunction() {
    check(
        Profile::Exact,
        r##"{"$ref": "#/$defs/v", "minimum": 3, "$defs": {"v": {"type": "integer"}}}"##,
        expect![[r#"
            # = number<>= 3, % 1>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "#]],
    );
}

#[test]
fn anchors_and_ids_are_found() {
    check(
        Profile::Generate,
        r##"{"$id": "http://example.com/a/", "properties": {"a": {"$ref": "b#here"}, "b": {"$ref": "#/$defs/x"}}, "type": "object", "$defs": {"x": {"$id": "b", "$defs": {"y": {"$anchor": "here", "type": "null"}}}}}"##,
        expect![[r##"
            # = {"a"?: #/$defs/x/$defs/y, "b"?: json-value}
            #/$defs/x/$defs/y = null
            json-value = {..: json-value} | [..json-value] | string | number | true | false | null
        "##]],
    );
}

#[test]
fn a_rust_integer_is_within_its_type() {
    check(
        Profile::Rust,
        r##"{"type": "integer", "format": "int32"}"##,
        expect![[r#"
            # = number<>= -2147483648, <= 2147483647, % 1, whole>
        "#]],
    );
}

#[test]
fn drafts_differ_in_exclusive_bounds() {
    check(
        Profile::Exact,
        r##"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "minimum": 1, "exclusiveMinimum": true}"##,
        expect![[r#"
            # = number<> 1>
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "#]],
    );
}

#[test]
fn references_stand_alone_up_to_draft_7() {
    check(
        Profile::Generate,
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/v", "maxLength": 1}}, "type": "object", "definitions": {"v": {"type": "string"}}}"##,
        expect![[r##"
            # = {"a"?: #/definitions/v}
            #/definitions/v = string
        "##]],
    );
}

#[test]
fn lists_under_items_are_prefixes() {
    check(
        Profile::Exact,
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "null"}], "additionalItems": false}"##,
        expect![[r#"
            # = [#/items/0]{0,1}
            #/items/0 = null
            text = Sequence([ExprId(5), ExprId(1), ExprId(5)])
        "#]],
    );
}

#[test]
fn contradictions_in_optional_parts_vanish() {
    check(
        Profile::Exact,
        r##"{"type": "object", "properties": {"a": {"type": "string", "minimum": 1, "enum": [1]}, "b": {"type": "null"}}, "additionalProperties": false}"##,
        expect![[r##"
            # = {"b"?: #/properties/b}
            #/properties/b = null
            text = Sequence([ExprId(5), ExprId(1), ExprId(5)])
        "##]],
    );
}

#[test]
fn recursion_without_an_end_vanishes() {
    check(
        Profile::Exact,
        r##"{"anyOf": [{"type": "null"}, {"$ref": "#/$defs/endless"}], "$defs": {"endless": {"type": "object", "properties": {"next": {"$ref": "#/$defs/endless"}}, "required": ["next"]}}}"##,
        expect![[r#"
            # = null
            text = Sequence([ExprId(3), ExprId(1), ExprId(3)])
        "#]],
    );
}
