/* Expression parser of systems: precedence climbing into an array of nodes. A hash table shares
 * common subexpressions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "problem/system_text.h"

#define ROW(name, word, operands, precedence) [STN_SYSTEM_##name] = {word, operands, precedence},
const stn_system_op_row stn_system_ops[STN_SYSTEM_OPS] = {STN_SYSTEM_OP_LIST(ROW)};
#undef ROW

static bool is_word(const char *word, const char *text, size_t size) {
    return strlen(word) == size && memcmp(word, text, size) == 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint64_t hash(const stn_system_node *node) {
    uint64_t number, h = (uint64_t)node->op;
    memcpy(&number, &node->number, sizeof number);
    const uint64_t parts[] = {(uint64_t)node->operand[0], (uint64_t)node->operand[1], (uint64_t)node->operand[2],
                              (uint64_t)node->index,      (uint64_t)node->level,      number};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        h = (h ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
    return h ^ h >> 32;
}

static bool same_node(const stn_system_node *a, const stn_system_node *b) {
    return a->op == b->op && memcmp(a->operand, b->operand, sizeof a->operand) == 0 && a->index == b->index &&
           a->level == b->level && a->number == b->number; /* numbers are neither NaN nor -0 */
}

static stn_status grow_nodes(stn_system_parser *p) {
    stn_system *system = p->system;
    const int capacity = p->capacity ? 2 * p->capacity : 64;
    const size_t size = 4 * (size_t)capacity;
    stn_system_node *nodes = realloc(system->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes) system->nodes = nodes;
    int *table = nodes ? calloc(size, sizeof *table) : NULL;
    if (!table) return stn_fail_memory(p->error, "a system", (size_t)capacity * sizeof *nodes);
    free(p->table);
    p->table = table, p->table_size = size, p->capacity = capacity;
    for (int i = 0; i < system->nnodes; i++) {
        size_t slot = hash(&nodes[i]) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = i + 1;
    }
    return STN_OK;
}

static stn_status add_node(stn_system_parser *p, const stn_system_node *node, int *number) {
    stn_system *system = p->system;
    if (system->nnodes == p->capacity) STN_TRY(grow_nodes(p));
    size_t slot = hash(node) & (p->table_size - 1);
    for (; p->table[slot]; slot = (slot + 1) & (p->table_size - 1))
        if (same_node(&system->nodes[p->table[slot] - 1], node)) {
            *number = p->table[slot] - 1;
            return STN_OK;
        }
    system->nodes[system->nnodes] = *node;
    *number = system->nnodes++;
    p->table[slot] = system->nnodes;
    return STN_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool stn_system_is_reserved(const char *name, size_t size) {
    static const char *const words[] = {"field", "coefficient", "stencil", "boundary", "taps"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(words[i], name, size)) return true;
    for (int op = STN_SYSTEM_MIN; op < STN_SYSTEM_OPS; op++)
        if (is_word(stn_system_ops[op].word, name, size)) return true;
    return false;
}

static int find(const stn_system_variable *list, int count, const char *name, size_t size) {
    for (int i = 0; i < count; i++)
        if (is_word(list[i].name, name, size)) return i;
    return -1;
}

/* Parses the level after a field's dot: next, prev, prev2, ... */
static stn_status parse_level(stn_system_parser *p, int field, size_t start, int *level) {
    const stn_system_variable *v = &p->system->fields[field];
    const size_t size = stn_system_name_size(p);
    const char *word = p->text + p->at;
    if (is_word("next", word, size)) {
        *level = STN_SYSTEM_NEXT;
        if (p->assigning == field)
            return stn_system_fail_at(p, start,
                                      "%s.next depends on itself: only fields assigned on earlier lines have a "
                                      "next value here",
                                      v->name);
        if (!(p->assigned >> field & 1))
            return stn_system_fail_at(p, start, "%s.next is used before it is assigned: move its line up, or use %s",
                                      v->name, v->name);
    } else if (is_word("prev", word, size))
        *level = 1;
    else if (size == 5 && memcmp(word, "prev", 4) == 0 && word[4] >= '2' && word[4] <= '9')
        *level = word[4] - '0';
    else
        return stn_system_fail_at(p, p->at, "%s has no \"%.*s\": use %s.next, %s.prev, %s.prev2...", v->name,
                                  (int)(size < 30 ? size : 30), word, v->name, v->name, v->name);
    p->at += size;
    if (*level >= v->levels)
        return stn_system_fail_at(p, start, "%s has %d level%s and %d are read: declare \"field %s(%d)\"", v->name,
                                  v->levels, v->levels == 1 ? "" : "s", *level + 1, v->name, *level + 1);
    return STN_OK;
}

static stn_status parse_field(stn_system_parser *p, int field, size_t start, int *result) {
    stn_system_node node = {.op = STN_SYSTEM_FIELD, .index = field};
    if (p->at < p->size && p->text[p->at] == '.') {
        p->at++;
        STN_TRY(parse_level(p, field, start, &node.level));
    }
    return add_node(p, &node, result);
}

/* ---- expressions, nested at most STN_SYSTEM_NESTED deep -------------------------------------- */

static stn_status parse_from(stn_system_parser *p, int least, int *result);

static stn_status enter_nesting(stn_system_parser *p) {
    if (++p->nested > STN_SYSTEM_NESTED)
        return stn_system_fail_at(p, p->at,
                                  "brackets, functions and signs are nested deeper than %d here: assign a part of "
                                  "it to a field of its own",
                                  STN_SYSTEM_NESTED);
    return STN_OK;
}

/* Parses `count` operands in brackets. */
static stn_status parse_operands(stn_system_parser *p, int count, const char *of, int result[3]) {
    const size_t opened = p->at;
    char shown[40];
    if (!stn_system_accept(p, '(')) {
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at, "%s needs its operands in brackets, but here is %s", of, shown);
    }
    p->brackets++;
    STN_TRY(enter_nesting(p));
    for (int i = 0; i < count; i++) {
        if (i && !stn_system_accept(p, ',')) {
            stn_system_quote_next(p, shown);
            return stn_system_fail_at(p, p->at, "%s takes %d operands, and after %d of them here is %s", of, count, i,
                                      shown);
        }
        STN_TRY(parse_from(p, 0, &result[i]));
    }
    stn_system_skip(p);
    if (p->at == p->size) return stn_system_fail_at(p, opened, "this bracket is not closed");
    if (p->text[p->at] != ')') {
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at, "the operands of %s end with a closing bracket, but here is %s", of, shown);
    }
    p->at++;
    p->nested--, p->brackets--;
    return STN_OK;
}

static stn_status parse_name(stn_system_parser *p, size_t size, int *result) {
    const size_t start = p->at;
    const char *name = p->text + start;
    stn_system *system = p->system;
    const int field = find(system->fields, system->nfields, name, size),
              coefficient = find(system->coefficients, system->ncoefficients, name, size);
    p->at += size;
    if (field >= 0) return parse_field(p, field, start, result);
    if (coefficient >= 0)
        return add_node(p, &(stn_system_node){.op = STN_SYSTEM_COEFFICIENT, .index = coefficient}, result);
    stn_system_node node = {0};
    char of[STN_SYSTEM_NAME];
    snprintf(of, sizeof of, "%.*s", (int)(size < sizeof of ? size : sizeof of - 1), name);
    for (int op = STN_SYSTEM_MIN; op < STN_SYSTEM_OPS; op++)
        if (is_word(stn_system_ops[op].word, name, size)) {
            node.op = (stn_system_op)op;
            STN_TRY(parse_operands(p, stn_system_ops[op].operands, of, node.operand));
            return add_node(p, &node, result);
        }
    for (int i = 0; i < system->nstencils; i++)
        if (is_word(system->stencils[i].name, name, size)) {
            node = (stn_system_node){.op = STN_SYSTEM_STENCIL, .index = i};
            STN_TRY(parse_operands(p, 1, of, node.operand));
            return add_node(p, &node, result);
        }
    return stn_system_fail_at(p, start, "\"%.63s\" is not declared: it is no field, coefficient, stencil or function",
                              of);
}

static stn_status parse_operand(stn_system_parser *p, int *result) {
    char shown[40];
    stn_system_skip_lines(p);
    size_t size = stn_system_number_size(p);
    if (size) {
        stn_system_node node = {.op = STN_SYSTEM_NUMBER};
        if (!stn_number_parse(p->text + p->at, size, &node.number))
            return stn_system_fail_at(p, p->at, "\"%.*s\" is no finite number", (int)(size < 40 ? size : 40),
                                      p->text + p->at);
        p->at += size;
        return add_node(p, &node, result);
    }
    size = stn_system_name_size(p);
    if (size) return parse_name(p, size, result);
    if (p->at < p->size && p->text[p->at] == '(') {
        int inside[3];
        STN_TRY(parse_operands(p, 1, "this bracket", inside));
        *result = inside[0];
        return STN_OK;
    }
    stn_system_quote_next(p, shown);
    return stn_system_fail_at(p, p->at, "a number, a name or a bracket is expected, but here is %s", shown);
}

static stn_status parse_signed(stn_system_parser *p, int *result) {
    stn_system_skip_lines(p);
    if (!stn_system_accept(p, '-')) return parse_operand(p, result);
    stn_system_node node = {.op = STN_SYSTEM_NEGATE};
    STN_TRY(enter_nesting(p));
    STN_TRY(parse_signed(p, &node.operand[0]));
    p->nested--;
    return add_node(p, &node, result);
}

/* The binary operator at the current position, the longest match; *size is 0 if there is none. */
static stn_system_op next_operator(stn_system_parser *p, size_t *size) {
    stn_system_op best = STN_SYSTEM_NUMBER;
    *size = 0;
    stn_system_skip(p);
    for (int op = STN_SYSTEM_ADD; op <= STN_SYSTEM_NOT_EQUAL; op++) {
        const size_t length = strlen(stn_system_ops[op].word);
        if (length <= *size || p->size - p->at < length ||
            memcmp(p->text + p->at, stn_system_ops[op].word, length) != 0)
            continue;
        *size = length;
        best = (stn_system_op)op;
    }
    return best;
}

/* Parses operators of precedence `least` or higher. */
static stn_status parse_from(stn_system_parser *p, int least, int *result) {
    STN_TRY(parse_signed(p, result));
    for (bool compared = false;;) {
        size_t size;
        stn_system_node node = {.op = next_operator(p, &size)};
        const int precedence = stn_system_ops[node.op].precedence;
        if (!size || precedence < least) return STN_OK;
        if (precedence == 1 && compared)
            return stn_system_fail_at(p, p->at, "comparisons do not chain: put one of them in brackets");
        compared = precedence == 1;
        p->at += size;
        node.operand[0] = *result;
        STN_TRY(parse_from(p, precedence + 1, &node.operand[1]));
        STN_TRY(add_node(p, &node, result));
    }
}

stn_status stn_system_parse_expression(stn_system_parser *p, int *root) {
    p->nested = 0;
    return parse_from(p, 0, root);
}
