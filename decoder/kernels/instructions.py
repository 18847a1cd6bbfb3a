"""LLVM instructions for `decoder.kernels.memory`, as numba intrinsics without bounds checks."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_INT_8, _INT_64 = ir.IntType(8), ir.IntType(64)


def _address(
    context: Any, builder: Any, array_type: Any, array: Any, position: Any, to: Any
) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    byte = builder.gep(builder.bitcast(data, _INT_8.as_pointer()), [position])
    return builder.bitcast(byte, to.as_pointer())


def load_instruction(bits: int, *, signed: bool, swapped: bool) -> Any:
    """Return an unaligned load (buffer, position) -> int64, sign- or zero-extended."""
    machine_type = ir.IntType(bits)

    def load(typing_context: Any, buffer: Any, position: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], args[0], args[1], machine_type)
            value = builder.load(address)
            value.align = 1
            if swapped:
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, _INT_64) if signed else builder.zext(value, _INT_64)

        return types.int64(buffer, types.int64), generate

    return intrinsic(load)


def store_instruction(bits: int) -> Any:
    """Return an unaligned store (buffer, position, value) of the lowest `bits`."""
    machine_type = ir.IntType(bits)

    def store(typing_context: Any, buffer: Any, position: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array, offset, stored = args
            if bits < 64:
                stored = builder.trunc(stored, machine_type)
            address = _address(context, builder, signature.args[0], array, offset, machine_type)
            builder.store(stored, address).align = 1
            return context.get_dummy_value()

        return types.void(buffer, types.int64, types.int64), generate

    return intrinsic(store)


def _emit_copy_32(typing_context: Any, target: Any, to: Any, source: Any, position: Any) -> Any:
    vector = ir.VectorType(_INT_8, 32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(
            _address(context, builder, signature.args[2], args[2], args[3], vector)
        )
        value.align = 1
        address = _address(context, builder, signature.args[0], args[0], args[1], vector)
        builder.store(value, address).align = 1
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), generate


def _emit_copy_text_32(
    typing_context: Any, target: Any, to: Any, source: Any, position: Any
) -> Any:
    vector, bits = ir.VectorType(_INT_8, 32), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def mask(comparison: str, byte: int) -> Any:
            which = builder.icmp_unsigned(comparison, text, ir.Constant(vector, [byte] * 32))
            return builder.zext(builder.bitcast(which, bits), _INT_64)

        text = builder.load(_address(context, builder, signature.args[2], args[2], args[3], vector))
        text.align = 1
        address = _address(context, builder, signature.args[0], args[0], args[1], vector)
        builder.store(text, address).align = 1
        escaped = builder.or_(mask("<", 0x20), builder.or_(mask("==", 0x22), mask("==", 0x5C)))
        return builder.or_(escaped, builder.shl(mask(">=", 0x80), ir.Constant(_INT_64, 32)))

    return types.int64(target, types.int64, source, types.int64), generate


def _emit_item(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = signature.args[0].dtype
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        value = builder.load(builder.gep(data, [args[1]]))
        if element.bitwidth == 64:
            return value
        return builder.sext(value, _INT_64) if element.signed else builder.zext(value, _INT_64)

    return types.int64(array, types.int64), generate


def _emit_set_item(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = signature.args[0].dtype.bitwidth
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        stored = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
        builder.store(stored, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _emit_trailing_zeros(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _emit_leading_zeros(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _emit_double(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


copy_32_instruction = intrinsic(_emit_copy_32)
copy_text_32_instruction = intrinsic(_emit_copy_text_32)
item_instruction = intrinsic(_emit_item)
set_item_instruction = intrinsic(_emit_set_item)
leading_zeros_instruction = intrinsic(_emit_leading_zeros)
trailing_zeros_instruction = intrinsic(_emit_trailing_zeros)
double_instruction = intrinsic(_emit_double)
